import type { ComponentChildren } from "preact";

export type ButtonKind = "primary" | "plain" | "danger" | "quiet";

interface Props {
  kind?: ButtonKind;
  /** Says what it does where the children are a picture alone. */
  label?: string;
  type?: "button" | "submit";
  disabled?: boolean;
  /** Something is on its way: the button waits, and says so. */
  busy?: boolean;
  onClick?: (event: MouseEvent) => void;
  children: ComponentChildren;
}

/** A button. */
export function Button({ kind = "plain", label, type = "button", disabled = false, busy = false, onClick, children }: Props) {
  return (
    <button
      class={`button ${kind}${label ? " icon-only" : ""}`}
      type={type}
      disabled={disabled || busy}
      aria-busy={busy}
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

/** A link that looks like a button: it goes somewhere, and does nothing. */
export function ButtonLink({ href, kind = "plain", children }: { href: string; kind?: ButtonKind; children: ComponentChildren }) {
  return (
    <a class={`button ${kind}`} href={href}>
      {children}
    </a>
  );
}
