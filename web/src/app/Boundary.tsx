import { Component, type ComponentChildren } from "preact";
import { messages } from "../i18n/language.js";

interface Props {
  /** What is not drawn when this fails, for the data of a test. */
  part: string;
  message?: string;
  /** Of what is drawn: another version may have no fault. */
  version?: number;
  children: ComponentChildren;
}

/** A fault while something is drawn costs that thing, and nothing around it. */
export class Boundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidCatch(error: unknown): void {
    console.error(`A fault while drawing ${this.props.part}`, error);
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.failed && before.version !== this.props.version) this.setState({ failed: false });
  }

  override render({ part, message, children }: Props): ComponentChildren {
    if (!this.state.failed) return children;
    return (
      <p class="fault" role="alert" data-part="fault" data-of={part}>
        {message ?? messages().app.pageFault}
      </p>
    );
  }
}
