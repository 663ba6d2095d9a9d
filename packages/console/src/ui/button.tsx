import type { ComponentChildren } from 'preact'

/** How a button looks and what it does. */
export interface ButtonProps {
  readonly children: ComponentChildren
  readonly onClick?: (event: MouseEvent) => void
  /** `primary`: the one thing to do here. `danger`: takes something away. `quiet`: beside a text. */
  readonly kind?: 'primary' | 'danger' | 'plain' | 'quiet'
  readonly size?: 'normal' | 'large'
  readonly type?: 'button' | 'submit'
  /** Runs: cannot be pressed again, and is said to be busy. */
  readonly isBusy?: boolean
  readonly isDisabled?: boolean
  /** Where its words do not say enough. */
  readonly label?: string
}

export function Button({
  children,
  onClick,
  kind = 'plain',
  size = 'normal',
  type = 'button',
  isBusy = false,
  isDisabled = false,
  label,
}: ButtonProps) {
  return (
    <button
      type={type}
      class={`button ${kind} ${size}`}
      onClick={onClick}
      disabled={isDisabled || isBusy}
      aria-busy={isBusy}
      aria-label={label}
    >
      {children}
    </button>
  )
}

/** A link that looks like a button: leads to a page. */
export function ButtonLink({
  href,
  children,
  kind = 'plain',
}: {
  readonly href: string
  readonly children: ComponentChildren
  readonly kind?: 'primary' | 'plain' | 'quiet'
}) {
  return (
    <a class={`button ${kind} normal`} href={href}>
      {children}
    </a>
  )
}
