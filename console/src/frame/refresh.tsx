/** Reloads data: on demand, every half minute, and when the service is back. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api, body, isPending, lostSince, queries } from "../api/client";
import { Icon } from "../parts/icon";
import { Moment } from "../parts/moment";
import { text } from "../text/en";
import { askAnew } from "./place";
import { iso } from "./ranges";
import { useTenant } from "./session";

const words = text.frame;
const FOLLOW_MS = 30_000;
const LOOK_AGAIN_MS = 5_000;
const STATUS_MS = 2_000;

function refresh(): void {
  askAnew();
  void queries.invalidateQueries();
}

/** Whether data is reloaded every half minute. */
export const follows = signal(false);

export function Refresh() {
  const isFollowing = follows.value;
  useEffect(() => {
    if (!isFollowing) return;
    const timer = setInterval(refresh, FOLLOW_MS);
    return () => {
      clearInterval(timer);
    };
  }, [isFollowing]);
  return (
    <button
      type="button"
      class={isFollowing ? "live" : "square"}
      title={isFollowing ? words.follow : words.refresh}
      onClick={refresh}
    >
      <Icon name="refresh" />
      <span class="hidden">{words.refresh}</span>
      {isFollowing && words.live}
    </button>
  );
}

/** Says that a change is saved but not active yet, until the status says it is active. */
export function Pending() {
  const { tenant_id } = useTenant();
  const pending = isPending.value;
  useEffect(() => {
    if (!pending) return;
    const timer = setInterval(() => {
      void lookAtStatus(tenant_id);
    }, STATUS_MS);
    return () => {
      clearInterval(timer);
    };
  }, [pending, tenant_id]);
  return <div role="status">{pending && <p class="lost">{words.pending}</p>}</div>;
}

async function lookAtStatus(tenant_id: string): Promise<void> {
  const path = { tenant_id };
  const status = await body(api.GET("/api/v1/tenants/{tenant_id}/status", { params: { path } }));
  if (status.active_revision === status.revision) isPending.value = false;
}

/** Says since when the service is unreachable; the data shown is older. */
export function Lost() {
  const since = lostSince.value;
  const isLost = since !== null;
  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(() => {
      void queries.refetchQueries({ queryKey: ["me"] });
    }, LOOK_AGAIN_MS);
    return () => {
      clearInterval(timer);
      refresh();
    };
  }, [isLost]);
  return (
    <div role="status">
      {isLost && (
        <p class="lost">
          {words.offline} <Moment at={iso(since)} />. {words.old}
        </p>
      )}
    </div>
  );
}
