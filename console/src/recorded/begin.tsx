/** An example of a first call, for tenants without traffic. */

import { text } from "../text/en";
import { useTenant } from "../frame/session";

export function Begin() {
  const { slug } = useTenant();
  return (
    <>
      <p>
        {text.decisions.teach} <a href={`/console/${slug}/settings`}>{text.decisions.makeKey}</a>
      </p>
      <pre>{`curl -s ${location.origin}/api/v1/runtime/mitigation \\
  -H 'x-service-api-key: …' -H 'content-type: application/json' \\
  -d '{"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.7"}}'`}</pre>
    </>
  );
}
