/** The explanation of a decision. It loads late, since it may repeat many decisions. */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Why } from "./why";

/** Explains why the draft of a replay decides differently. */
export function ExplainedDraft(props: { replay_job_id: string; decision_id: string }) {
  const { tenant_id } = useTenant();
  const path = { tenant_id, ...props };
  const explanation = useQuery({
    queryKey: ["replay-explanation", path],
    queryFn: () =>
      body(
        api.GET(
          "/api/v1/tenants/{tenant_id}/replay-jobs/{replay_job_id}/differences/{decision_id}/explain",
          { params: { path } },
        ),
      ),
    staleTime: Infinity,
  });
  return <Answered of={explanation}>{(found) => <Why explanation={found} isDraft />}</Answered>;
}

export function Explained({ id }: { id: string }) {
  const { tenant_id } = useTenant();
  const path = { tenant_id, decision_id: id };
  const explanation = useQuery({
    queryKey: ["explanation", tenant_id, id],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/decisions/{decision_id}/explain", {
          params: { path },
        }),
      ),
    staleTime: Infinity,
  });
  return <Answered of={explanation}>{(found) => <Why explanation={found} />}</Answered>;
}
