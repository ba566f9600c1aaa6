-- Asks Tidegate about a request: `http-request lua.tidegate`. HAProxy 2.6 or newer.
--
-- TIDEGATE_URL and TIDEGATE_KEY are variables of the environment; with TIDEGATE_FAIL_OPEN=true a
-- request passes while there are no decisions.

local url = (os.getenv("TIDEGATE_URL") or "http://127.0.0.1:8080") .. "/authz"
local key = assert(os.getenv("TIDEGATE_KEY"), "TIDEGATE_KEY is not set")
local is_open = os.getenv("TIDEGATE_FAIL_OPEN") == "true"

-- Headers about the connection, and those by which proxies name the request.
local own = {
	["host"] = true, ["connection"] = true, ["content-length"] = true,
	["transfer-encoding"] = true, ["upgrade"] = true, ["expect"] = true, ["te"] = true,
	["x-service-api-key"] = true, ["x-original-url"] = true, ["x-original-method"] = true,
	["x-forwarded-method"] = true, ["x-forwarded-proto"] = true, ["x-forwarded-host"] = true,
	["x-forwarded-uri"] = true, ["x-forwarded-for"] = true, ["x-original-protocol"] = true,
}
-- Headers of an answer that HAProxy writes itself.
local of_answer = { ["content-length"] = true, ["transfer-encoding"] = true, ["connection"] = true,
	["date"] = true }

-- HAProxy handles 101 headers (tune.http.maxhdr) and 16 KiB (tune.bufsize) of a message. A question
-- that doesn't fit would be none, which a visitor could bring about.
local most_headers, most_bytes = 80, 12000

-- The headers of the question; nil if it is too large.
local function question(txn)
	local headers, count, bytes = {}, 0, #txn.f:pathq()
	for name, values in pairs(txn.http:req_get_headers()) do
		if not own[name] then
			headers[name] = {}
			-- The first of them has the number 0.
			local at = 0
			while values[at] do
				table.insert(headers[name], values[at])
				bytes = bytes + #name + #values[at]
				at, count = at + 1, count + 1
			end
		end
	end
	if count > most_headers or bytes > most_bytes then
		return nil
	end
	headers["x-service-api-key"] = { key }
	headers["x-forwarded-method"] = { txn.f:method() }
	headers["x-forwarded-proto"] = { txn.f:ssl_fc() == 1 and "https" or "http" }
	headers["x-forwarded-host"] = { txn.f:req_hdr("host") or "" }
	headers["x-forwarded-uri"] = { txn.f:pathq() }
	headers["x-forwarded-for"] = { txn.f:src() }
	headers["x-original-protocol"] = { "HTTP/" .. txn.f:req_ver() }
	return headers
end

local function reply(txn, answer)
	local made = txn:reply({ status = answer.status, reason = "", body = answer.body })
	for name, values in pairs(answer.headers) do
		if not of_answer[name] then
			for _, value in pairs(values) do
				made:add_header(name, value)
			end
		end
	end
	txn:done(made)
end

core.register_action("tidegate", { "http-req" }, function(txn)
	local headers = question(txn)
	if not headers then
		txn:done(txn:reply({ status = 431, body = "The request is too large.\n" }))
	end
	local answer = core.httpclient():get({ url = url, headers = headers, timeout = 2000 })
	local status = answer and answer.status or 0
	-- Without an answer of Tidegate, HAProxy's client makes one up, which has no request id.
	local is_answered = status > 0 and answer.headers["x-request-id"] ~= nil
	if status >= 200 and status < 300 and is_answered then
		return
	end
	if not is_answered or answer.headers["x-service-no-decision"] then
		if is_open then
			return
		end
		txn:done(txn:reply({ status = 502, body = "There is no decision about the request.\n" }))
	end
	reply(txn, answer)
end, 0)
