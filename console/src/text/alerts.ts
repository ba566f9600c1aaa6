/** The texts about alerts. */

export const alerts = {
  about:
    "An alert compares counts of each minute with a threshold and with the hour before. It sends a" +
    " message when it fires and when it is resolved.",
  empty: "No alerts.",
  off: "The service doesn't evaluate alerts: `alerts.enabled` is off.",
  create: "New alert",
  name: "Name",
  metric: "Metric",
  metrics: {
    blocks: "Blocks",
    challenges: "Challenges",
    rule_errors: "Rule errors",
    solve_share: "Solved challenges (%)",
    key_use: "Use of an API key's limit (%)",
    publishing_lag: "Publishing lag (s)",
    daemon_silence: "Silence of a daemon (s)",
    log_unwritten: "Decision log not written (s)",
  },
  threshold: "Threshold",
  timesUsual: "Times the usual",
  overMinutes: "Over minutes",
  standard: "default",
  kind: "Send to",
  kinds: { webhook: "Webhook", slack: "Slack", teams: "Teams", email: "E-mail" },
  to: "Address",
  condition: "Condition",
  state: "State",
  states: { firing: "Firing since", ok: "OK", disabled: "Disabled" },
  destinations: "Destinations",
  waiting: (count: number) => `${count} waiting`,
  dropped: (count: number) => `${count} not delivered`,
  secret: "Signing secret",
  change: "Change",
  enable: "Enable",
  disable: "Disable",
  remove: "Delete",
  sure: "Delete this alert? Waiting messages are not sent.",
  preview: "Preview",
  save: "Create",
  fired: (total: number, since: string) =>
    `Would have fired ${total} ${total === 1 ? "time" : "times"} since ${since}`,
  unrecorded: "The past of this metric isn't recorded.",
  says: (alert: {
    comparison: "above" | "below";
    threshold: number;
    times_usual: number | null;
    over_minutes: number;
  }) =>
    `${alert.comparison} ${alert.threshold}` +
    (alert.times_usual === null ? "" : ` and ${alert.times_usual} times the usual`) +
    (alert.over_minutes === 1 ? "" : `, over ${alert.over_minutes} minutes`),
};
