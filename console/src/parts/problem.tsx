/** An error message, shown in place until it is dealt with. */

import { problemOf } from "../api/problem";
import { text } from "../text/en";
import { Copy } from "./copy";
import { hinted, marked } from "./foreign";

export function ProblemPanel({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = problemOf(error);
  const details = problem.document?.errors ?? [];
  const referrers = problem.document?.referrers ?? [];
  const [message = "", ...lines] = problem.message.split("\n");
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{marked(message)}</strong> <code>{problem.code}</code>
      </p>
      {lines.length > 0 && <pre tabIndex={0}>{marked(lines.join("\n"))}</pre>}
      {details.length > 0 && (
        <ul>
          {details.map((each) => (
            <li>
              <code>{each.pointer ?? each.parameter ?? each.header ?? ""}</code>{" "}
              {hinted(each.detail, each.hint)}
            </li>
          ))}
        </ul>
      )}
      {referrers.length > 0 && (
        <ul>
          {referrers.map((each) => (
            <li>
              {each.kind} {marked(each.name)}
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        {problem.requestId !== null && (
          <span class="quiet">
            {text.frame.requestId} <code>{problem.requestId}</code>{" "}
            <Copy value={problem.requestId} what={text.frame.requestId} />
          </span>
        )}
        {retry && (
          <button type="button" onClick={retry}>
            {text.frame.retry}
          </button>
        )}
      </div>
    </div>
  );
}
