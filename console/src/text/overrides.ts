/** The texts about bans and exemptions. */

export const overrides = {
  about:
    "An operator can ban a network or an entity, or let it through, for a time. A ban blocks" +
    " before any policy. Letting through wins over policies, active mitigations and bans.",
  empty: "Nobody is banned or let through by hand.",
  buttons: { ban: "Ban for …", allow: "Let through for …" },
  verbs: { ban: "Ban", allow: "Let through" },
  meaning: {
    ban: "Every request is blocked until the end, whatever the policies say.",
    allow: "Every request is allowed until the end, whatever the policies say.",
  },
  sure: { ban: "End this ban?", allow: "End this exemption?" },
  by: { ban: "Banned by", allow: "Let through by" },
  somebody: "an operator",
  target: "Whom",
  other: "Another address or network",
  network: "Address or network",
  wide: "Allow a network wider than /8 (IPv4) or /19 (IPv6)",
  duration: "Duration",
  reason: "Reason",
  author: "Author",
  answer: "Answer",
  from: "Since",
  end: "Until",
  until: "until",
  ended: "(ended)",
  endNow: "End",
  said: {
    create: { ban: "banned", allow: "let through" },
    update: { ban: "changed the ban of", allow: "changed the exemption of" },
    delete: { ban: "ended the ban of", allow: "ended the exemption of" },
    expire: { ban: "removed the ended ban of", allow: "removed the ended exemption of" },
  } as Readonly<Record<string, Readonly<Record<"ban" | "allow", string>>>>,
  lasts: (seconds: number) => {
    const [count, unit] =
      seconds < 3_600
        ? [seconds / 60, "minute"]
        : seconds < 86_400
          ? [seconds / 3_600, "hour"]
          : [seconds / 86_400, "day"];
    return `${count} ${unit}${count === 1 ? "" : "s"}`;
  },
};
