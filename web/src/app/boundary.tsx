import { Component, type ComponentChildren } from "preact";
import { Button } from "../parts/button";
import { Notice } from "../parts/notice";

interface Props {
  /** Another value is another page, and a new try. */
  of: string;
  children: ComponentChildren;
}

/** Keeps a fault of one page to that page: the rest goes on, and says what happened. */
export class Boundary extends Component<Props, { fault: Error | null }> {
  override state: { fault: Error | null } = { fault: null };

  static override getDerivedStateFromError(fault: unknown): { fault: Error } {
    return { fault: fault instanceof Error ? fault : new Error(String(fault)) };
  }

  override componentDidCatch(fault: unknown): void {
    console.error(fault);
  }

  override componentDidUpdate(before: Props): void {
    if (before.of !== this.props.of && this.state.fault) this.setState({ fault: null });
  }

  override render() {
    const { fault } = this.state;
    if (!fault) return this.props.children;
    return (
      <Notice tone="bad" title="This page met a fault of its own" actions={<Button onClick={() => this.setState({ fault: null })}>Try again</Button>}>
        <p>The engine is not affected. What went wrong: {fault.message}</p>
      </Notice>
    );
  }
}
