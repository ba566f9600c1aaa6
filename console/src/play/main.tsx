/** The page of `tidegate play`: definitions and events, and what is decided on them. */

import { render } from "preact";
import { lazy, ErrorBoundary } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { useSettled } from "../parts/settled";
import "../frame/theme";
import { hinted, marked } from "../parts/foreign";
import "../style/tokens.css";
import "../style/base.css";
import "../style/frame.css";
import "../style/parts.css";
import "../style/play.css";
import { text } from "../text/play";
import { evaluated, keepToken, starting, type Evaluation, type Finding } from "./call";
import { packed, unpacked, type Texts } from "./link";
import { Results } from "./results";

const DocumentEditor = lazy(() =>
  import("./document-editor").then((module) => module.DocumentEditor),
);
const LINK = "play";
const NOTHING: readonly Finding[] = [];

/** The texts of a link, or those that the command began with. */
async function firstTexts(): Promise<Texts> {
  const hash = new URLSearchParams(location.hash.slice(1));
  const token = hash.get("token");
  if (token !== null) {
    keepToken(token);
    hash.delete("token");
    history.replaceState(null, "", `/${hash.size ? `#${hash.toString()}` : ""}`);
  }
  const link = hash.get(LINK);
  return link === null ? starting() : unpacked(link);
}

function Page() {
  const [first, setFirst] = useState<Texts | null>(null);
  const [problem, setProblem] = useState("");
  const load = (): void => {
    setFirst(null);
    setProblem("");
    firstTexts().then(setFirst, (error: unknown) => {
      setProblem((error as Error).message);
    });
  };
  useEffect(() => {
    load();
    addEventListener("hashchange", load);
    return () => {
      removeEventListener("hashchange", load);
    };
  }, []);
  return (
    <main class="play">
      <h1>{text.title}</h1>
      {problem !== "" && <Problem message={problem} />}
      {first !== null && <Playing first={first} />}
    </main>
  );
}

function Playing({ first }: { first: Texts }) {
  const [texts, setTexts] = useState(first);
  const [chosen, setChosen] = useState<number | null>(null);
  const [found, setFound] = useState<Evaluation | null>(null);
  const [problem, setProblem] = useState("");
  const settled = useSettled(texts);
  useEffect(() => {
    const ended = new AbortController();
    evaluated(settled, chosen, ended.signal).then(
      (answer) => {
        setFound(answer);
        setProblem("");
      },
      (error: unknown) => {
        if (!ended.signal.aborted) setProblem((error as Error).message);
      },
    );
    return () => {
      ended.abort();
    };
  }, [settled, chosen]);
  const findings = found?.findings ?? NOTHING;
  return (
    <>
      <Link texts={texts} />
      <div class="halves">
        <div class="half">
          <h2>{text.definitions}</h2>
          <DocumentEditor
            label={text.definitions}
            value={first.definitions}
            findings={findings}
            onChange={(definitions) => {
              setTexts((before) => ({ ...before, definitions }));
            }}
          />
          <div role="status">
            {found !== null && findings.length === 0 && <p class="quiet">{text.noFindings}</p>}
            {findings.map((each) => (
              <p class={`finding ${each.severity}`}>
                {text.position(each.line ?? 1, each.column ?? 1)} {hinted(each.message, each.hint)}
              </p>
            ))}
          </div>
          <h2>{text.events}</h2>
          <p class="quiet">{text.eventsHelp}</p>
          <DocumentEditor
            label={text.events}
            value={first.events}
            findings={NOTHING}
            onChange={(events) => {
              setChosen(null);
              setTexts((before) => ({ ...before, events }));
            }}
          />
        </div>
        <div class="half">
          {problem !== "" && <Problem message={problem} />}
          {found !== null && problem === "" && <Results of={found} onChoose={setChosen} />}
        </div>
      </div>
    </>
  );
}

function Link({ texts }: { texts: Texts }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    setSaid("");
  }, [texts]);
  const copy = async (): Promise<void> => {
    try {
      const address = `${location.origin}/#${LINK}=${await packed(texts)}`;
      await navigator.clipboard.writeText(address);
      setSaid(text.copied);
    } catch (error) {
      setSaid((error as Error).message);
    }
  };
  return (
    <p class="row">
      <button type="button" onClick={copy}>
        {text.copyLink}
      </button>
      <span role="status">{said}</span>
    </p>
  );
}

function Problem({ message }: { message: string }) {
  return (
    <div class="problem" role="alert">
      <p>{marked(message)}</p>
    </div>
  );
}

const root = document.getElementById("root");
if (root)
  render(
    <ErrorBoundary>
      <Page />
    </ErrorBoundary>,
    root,
  );
