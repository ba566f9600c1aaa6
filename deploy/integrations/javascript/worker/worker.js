/** Stands in front of a site and asks Tidegate about every request. */

import { protect, report } from "../tidegate.js";

export default {
  async fetch(request, environment, context) {
    const options = {
      url: environment.TIDEGATE_URL,
      apiKey: environment.TIDEGATE_KEY,
      failOpen: environment.TIDEGATE_FAIL_OPEN === "true",
      source: "worker",
      // The platform sets it, whatever the visitor sends.
      clientAddress: (asked) => asked.headers.get("cf-connecting-ip"),
      protocol: (asked) => asked.cf?.httpProtocol,
      onFailure: (error) => console.error("no decision:", String(error)),
    };
    const reply = await protect(request, options);
    if (reply !== null) return reply;
    const answer = await fetch(request);
    context?.waitUntil(report(request, answer.status, options));
    return answer;
  },
};
