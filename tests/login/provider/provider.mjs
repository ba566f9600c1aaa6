// A provider of OpenID Connect with one client. It prints its issuer, reads the client's address from
// standard input, and says when it is ready.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://localhost:${server.address().port}`;
console.log(issuer);
const { value: redirectUri } = await createInterface(process.stdin)[Symbol.asyncIterator]().next();
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "tidegate-test",
      client_secret: "a secret of the client",
      redirect_uris: [redirectUri],
    },
  ],
  claims: { email: ["email", "email_verified"], profile: ["name"] },
  pkce: { required: () => true },
  cookies: { keys: ["of this test alone"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id}@example.test`,
      email_verified: id !== "unverified",
      name: `The person ${id}`,
    }),
  }),
});
server.on("request", provider.callback());
console.log("ready");
