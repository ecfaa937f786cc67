import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/error";
import { useSession } from "../state/session";
import type { Audit } from "../state/audit";
import { duration, second } from "../words/time";
import { Button } from "./button";
import { ErrorNotice, Notice } from "./notice";
import "./audit.css";

/** How long the engine reads at most, in seconds: it says so when that is not enough. */
const most = 80;

/** Most answers are there sooner: what came and went within a second would only flicker. */
const shownAfter = second;

interface Props {
  of: Audit<unknown>;
  /** What is done meanwhile: "The log is being read again". */
  label: string;
  /** What could not be done: "This could not be explained". */
  failed: string;
  /** What else can be done about a failure. */
  remedy?: (error: ApiError) => ComponentChildren;
}

/** How far a question is for which the log is read, and what became of it; nothing once it is answered. */
export function AuditState({ of, label, failed, remedy }: Props) {
  if (of.error) return <ErrorNotice title={titleOf(of.error) ?? failed} error={of.error} actions={<>{remedy?.(of.error)}{mayPass(of.error) && <Button onClick={of.again}>Ask again</Button>}</>} />;
  if (of.stage === "stopped") return <Notice title="Stopped" actions={<Button onClick={of.again}>Ask again</Button>}><p>The answer was not waited for.</p></Notice>;
  if (of.stage === "idle") return null;
  return <Reading of={of} label={label} />;
}

/** Whether the same question may have an answer later. */
function mayPass({ status }: ApiError): boolean {
  return status === 0 || status === 429 || status >= 500;
}

function titleOf({ code }: ApiError): string | undefined {
  return code === "busy" ? "Others are still being answered" : undefined;
}

function Reading({ of, label }: { of: Audit<unknown>; label: string }) {
  const passed = Math.max(0, useSession().store.now.value - of.since);
  const waits = of.stage === "waits";
  if (passed < shownAfter) return null;
  return (
    <div class="audit" role="status">
      <div class="audit-text">
        <p class="notice-title">{waits ? "Waiting for its turn" : label}</p>
        <p class="faint">
          {waits ? "The engine makes one audit at a time, and somebody else's is first. " : `It takes ${most} s at most. `}
          <span aria-hidden="true">{`${duration(passed)} so far`}</span>
        </p>
      </div>
      <progress max={most} value={waits ? undefined : Math.min(most, passed / second)} aria-label={label} />
      <Button onClick={of.stop}>Stop</Button>
    </div>
  );
}
