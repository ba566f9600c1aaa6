#!/bin/sh
# Fills in the template and runs nginx with it, in a folder of its own, until Ctrl-C.
set -eu
: "${TIDEGATE_KEY:?the API key that \`tidegate serve\` printed}"
TIDEGATE_ADDRESS=${TIDEGATE_ADDRESS:-127.0.0.1:8080}
PORT=${PORT:-8000}
SITE_PORT=${SITE_PORT:-8001}
here=$(dirname "$0")
folder=$(mktemp -d)
chmod 755 "$folder"
sed -e "s|\${TIDEGATE_KEY}|$TIDEGATE_KEY|" -e "s|\${TIDEGATE_ADDRESS}|$TIDEGATE_ADDRESS|" \
  -e "s|\${PORT}|$PORT|" -e "s|\${SITE_PORT}|$SITE_PORT|" \
  "$here/tidegate.conf.template" >"$folder/tidegate.conf"
chmod 600 "$folder/tidegate.conf" # it has the key
cat >"$folder/nginx.conf" <<END
daemon off;
worker_processes 1;
pid $folder/nginx.pid;
error_log stderr warn;
events {}
http {
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    include $folder/tidegate.conf;
}
END
exec "$(command -v nginx || echo /usr/sbin/nginx)" -p "$folder" -e stderr -c "$folder/nginx.conf"
