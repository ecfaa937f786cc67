import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

export interface TabItem<Id extends string> {
  readonly id: Id;
  readonly title: string;
}

interface Props<Id extends string> {
  label: string;
  tabs: readonly TabItem<Id>[];
  selected: Id;
  onSelect: (id: Id) => void;
  /** What the selected tab shows. */
  children: ComponentChildren;
}

/** Which place a key leads to from this one of n; −1 when it leads nowhere. */
export function tabAfter(key: string, place: number, n: number): number {
  const places: Record<string, number> = { ArrowRight: (place + 1) % n, ArrowLeft: (place + n - 1) % n, Home: 0, End: n - 1 };
  return places[key] ?? -1;
}

/** Views of one thing, of which one is seen. Arrow keys go from one to the next. */
export function Tabs<Id extends string>({ label, tabs, selected, onSelect, children }: Props<Id>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const place = tabAfter(event.key, tabs.findIndex((tab) => tab.id === selected), tabs.length);
    const next = tabs[place];
    if (!next) return;
    event.preventDefault();
    onSelect(next.id);
    list.current?.querySelectorAll("button")[place]?.focus();
  };
  return (
    <div>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            class="tab"
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab.id === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} tabIndex={0}>
        {children}
      </div>
    </div>
  );
}
