/** The settings: tenant, API keys, people, daemons, challenges, the caller's account. */

import { text } from "../../text/en";
import { Account } from "./account";
import { Keys } from "./keys";
import { Challenges, Daemons } from "./machines";
import { People } from "./people";
import { TenantSettings } from "./tenant";

const words = text.settings;
const SECTIONS = [
  ["tenant", text.tenant.title, TenantSettings],
  ["keys", words.keys, Keys],
  ["people", words.people, People],
  ["daemons", words.daemons, Daemons],
  ["challenges", words.challenges, Challenges],
  ["account", text.account.title, Account],
] as const;

export default function SettingsPage() {
  return (
    <>
      <h1>{text.pages.settings}</h1>
      {SECTIONS.map(([id, title, Section]) => (
        <section class="card" aria-labelledby={id} key={id}>
          <h2 id={id}>{title}</h2>
          <Section />
        </section>
      ))}
    </>
  );
}
