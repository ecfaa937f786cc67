import type { ComponentChildren } from "preact";

/** Where a list has nothing: what would be here, and what to do so that it is. */
export function Empty({ title, actions, children }: { title: string; actions?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
      {actions && <div class="empty-actions">{actions}</div>}
    </div>
  );
}
