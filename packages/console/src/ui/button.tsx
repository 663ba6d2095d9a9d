import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { named, textIf } from '../text/index.ts'
import type { IconName } from './icon.tsx'
import { Icon } from './icon.tsx'

/** How a button looks and what it does. */
export interface ButtonProps {
  readonly children?: ComponentChildren
  /** Before its words; alone, `label` says what it does. */
  readonly icon?: IconName
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
  icon,
  onClick,
  kind = 'plain',
  size = 'normal',
  type = 'button',
  isBusy = false,
  isDisabled = false,
  label,
}: ButtonProps) {
  const element = useRef<HTMLButtonElement>(null)
  // A button that is disabled loses the focus: the one that has it takes no press, and stays where people are.
  const press = (event: MouseEvent): void => {
    if (isBusy || isDisabled) event.preventDefault()
    else onClick?.(event)
  }
  const hasFocus = (): boolean => element.current !== null && document.activeElement === element.current
  useLayoutEffect(
    () => () => {
      if (hasFocus()) document.querySelector('main')?.focus({ preventScroll: true })
    },
    [],
  )
  return (
    <button
      ref={element}
      type={type}
      class={`button ${kind} ${size}`}
      onClick={press}
      disabled={isDisabled && !hasFocus()}
      aria-disabled={isDisabled || isBusy}
      aria-busy={isBusy}
      aria-label={label}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  )
}

/** What can be done with one of several: its verb, and for who hears it alone whose it is. */
export function RowButton({
  text,
  of,
  ...button
}: Omit<ButtonProps, 'kind' | 'label' | 'children'> & { readonly text: string; readonly of: string }) {
  const verb = textIf(text) ?? text
  return (
    <Button {...button} kind="quiet" label={named(verb, of)}>
      {verb}
    </Button>
  )
}

/** A link that looks like a button: leads to a page. */
export function ButtonLink({
  href,
  children,
  icon,
  kind = 'plain',
}: Pick<ButtonProps, 'children' | 'icon'> & {
  readonly href: string
  readonly kind?: 'primary' | 'plain' | 'quiet'
}) {
  return (
    <a class={`button ${kind} normal`} href={href}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </a>
  )
}
