/** The texts about agents. */

export const agents = {
  agent: "Agent",
  operator: "Operator",
  purpose: "Purpose",
  proof: "Proof",
  policy: "Policy",
  unknown: "(unknown)",
  claims: "says it is",
  imitators: "Imitators",
  imitatorsAbout:
    "They use the name of an agent whose operator publishes its addresses, from another address.",
  noImitators: "No imitators in this time range.",
  others: "Other agents",
  othersAbout: "Name only: the agent's address can't prove it. That isn't bad by itself.",
  noOthers: "No other agents in this time range.",
  purposes: {
    search: "Search",
    training: "Training",
    user: "User request",
    monitoring: "Monitoring",
    feed: "Feed",
    other: "Other",
  } as Readonly<Record<string, string>>,
  proofs: {
    signature: "Signature",
    range: "Published address",
    dns: "Reverse DNS",
    name: "Name only",
    none: "None",
  },
  invalidSignatures: (count: number) =>
    count === 1 ? "1 invalid signature" : `${count} invalid signatures`,
  failed: (count: number) =>
    count === 1
      ? "The agent of 1 event can't be read."
      : `The agents of ${count} events can't be read.`,
  first: (shown: number, of: number) => `The first ${shown} of ${of} agents are shown.`,
} as const;
