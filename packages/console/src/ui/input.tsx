import type { ComponentType } from 'preact'

/** What lines have in common, whatever their type. */
export interface InputProps {
  readonly [name: string]: unknown
  readonly onInput?: (event: { readonly currentTarget: HTMLInputElement }) => void
  readonly onKeyDown?: (event: KeyboardEvent) => void
}

/** An `input` whose type and role are known at run time alone: the types of Preact ask for one of each role's own. */
export const Input = 'input' as unknown as ComponentType<InputProps>
