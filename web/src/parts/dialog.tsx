import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button";
import { Icon } from "./icon";

interface Props {
  title: string;
  /** Called when it is to be closed: by its button, by Escape, or by a click beside it. */
  onClose: () => void;
  /** The buttons, the one that does it last. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/**
 * A dialog over the page, open as long as it is there. The browser's own: it
 * keeps the focus inside, and gives it back to where it was.
 */
export function Dialog({ title, onClose, actions, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const beside = (event: MouseEvent): void => {
    if (event.target === dialog.current) onClose();
  };
  const escape = (event: Event): void => {
    event.preventDefault(); // who opened it closes it, or asks first
    onClose();
  };
  return (
    <dialog class="dialog" ref={dialog} aria-labelledby={id} onCancel={escape} onClick={beside}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" label="Close" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </div>
      <div class="dialog-body">{children}</div>
      {actions && <div class="dialog-foot">{actions}</div>}
    </dialog>
  );
}
