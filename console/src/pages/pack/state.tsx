/** Whether a tenant has a pack, and in which version. */

import type { Schemas } from "../../api/client";
import { marked } from "../../parts/foreign";
import { text } from "../../text/en";

const words = text.packs;

export function State({ of }: { of: Schemas["Pack"] }) {
  const { installed_version: installed, update_available: isOld, version } = of;
  return (
    <p class="row">
      <span class="quiet">
        {words.version} {marked(version)}
      </span>
      <strong>
        {installed === null ? words.notInstalled : words.installed(marked(installed))}
      </strong>
      {isOld && <strong>{words.updateTo(marked(version))}</strong>}
    </p>
  );
}
