/** The texts about packs. */

export const packs = {
  about:
    "Policies to start from, with tests. An added pack only monitors until you enable its mitigations.",
  version: "Version",
  installed: (version: string) => `Added, version ${version}`,
  notInstalled: "Not added",
  updateTo: (version: string) => `Update to ${version} available`,
  needs: "Needs",
  catches: "Catches",
  misses: "Misses",
  hurts: "Can hurt",
  measured: "How this was measured",
  slots: "Slots",
  slotsAbout:
    "Actions that differ between sites. Check each guess against your traffic before you add the pack.",
  own: "Filled by your action:",
  preview: { add: "Preview", update: "Preview the update", remove: "Preview the removal" },
  make: { add: "Add", update: "Update", remove: "Remove" },
  made: {
    add: "Added. It only monitors: enable its mitigations when its results convince you.",
    update: "Updated.",
    remove: "Removed. The actions of its slots are kept.",
  },
  changes: (count: number) => (count === 1 ? "1 change" : `${count} changes`),
  yours: "Your changes to the pack",
  conflicts: "Conflicts: your values are kept",
  place: "Place",
  change: "Change",
  yourValue: "Yours",
  packValue: "Pack",
  matched: "Recent events that each slot matches",
  slot: "Slot",
  events: "Events",
  of: (matched: number, looked: number) => `${matched} of ${looked}`,
  noTraffic: "No events have been recorded yet.",
  results: "Show its policies",
} as const;
