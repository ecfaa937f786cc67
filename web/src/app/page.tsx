import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Nobody has gone anywhere yet: the page that opens first leaves the focus where the browser has it. */
let opening = true;

interface Props {
  title: string;
  /** One sentence under the title. */
  lead?: ComponentChildren;
  /** What can be done here. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** What every page has: its title, which gets the focus when one comes here, and its content. */
export function Page({ title, lead, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Quotashare`;
  }, [title]);
  useEffect(() => {
    if (!opening) heading.current?.focus({ preventScroll: true });
    opening = false;
  }, []);
  return (
    <>
      <header class="page-head">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p class="soft">{lead}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}
