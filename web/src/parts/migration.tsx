import type { Migration } from "../state/migration";
import { count } from "../words/amount";
import { Button } from "./button";
import { ErrorNotice, Notice } from "./notice";

interface Props {
  of: Migration;
  onAgain: () => void;
  onDismiss: () => void;
  onDiscard: () => void;
}

/** What became of the pools that an older dashboard kept in this browser. Nothing while there were none. */
export function MigrationNotice({ of, onAgain, onDismiss, onDiscard }: Props) {
  const close = <Button onClick={onDismiss}>Close</Button>;
  const both = (
    <>
      <Button onClick={onAgain}>Try again</Button>
      {close}
    </>
  );
  switch (of.kind) {
    case "none":
      return null;
    case "running":
      return <Notice title={`${count(of.count, "pool")} of an older dashboard are being brought here`} />;
    case "done":
      return (
        <Notice tone="good" title={`${count(of.count, "pool")} of an older dashboard ${of.count === 1 ? "was" : "were"} brought here`} actions={close}>
          <p>This browser had kept them. The engine has them now, so they are no longer kept there.</p>
        </Notice>
      );
    case "unreadable":
      return (
        <Notice tone="bad" title="The pools of an older dashboard could not be read" actions={<>{both}<Button onClick={onDiscard}>Forget it</Button></>}>
          <p>What this browser kept of them stays there until it is forgotten: {of.problem}.</p>
        </Notice>
      );
    case "refused":
      return <ErrorNotice title="The pools of an older dashboard were not brought: they stay kept in this browser" error={of.error} actions={both} />;
  }
}
