import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t, textIf } from '../text/index.ts'
import { type Line, useComplaint } from './complaint.ts'
import { useRefusal } from './form-problem.ts'

interface Labelled {
  readonly label?: string
  /** What to fill in, in a sentence. */
  readonly help?: string | undefined
  /** The key of the text that is its label; the one behind it, `.help`, is its help. */
  readonly text?: string
  /** Why what is filled in will not do. */
  readonly error?: string | undefined
  /** Where its value stands in what the form sends, `license/holder`: what the service refuses of it is said here. */
  readonly name?: string
}

export interface FieldProps extends Labelled {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'date' | 'datetime-local' | 'email' | 'url'
  readonly isRequired?: boolean
  readonly isDisabled?: boolean
  readonly autocomplete?: string
  readonly inputMode?: 'numeric' | 'decimal' | 'text' | 'search'
  readonly placeholder?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly min?: number | string
  readonly max?: number | string
  readonly isFocused?: boolean
  /** Several lines in place of one. */
  readonly lines?: number
  /** Values to choose from, each with what it is; others may be typed. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
}

/** What stands beside a line: as it is given, else the texts of its key. */
export function wordsBeside({ text, label, help }: Labelled): {
  readonly label: string
  readonly help: string | undefined
} {
  const of = text ?? ''
  return { label: label ?? textIf(of) ?? of, help: help ?? textIf(`${of}.help`) }
}

/** A labelled line, or several, with its help and what is wrong with it. */
export function Field({ error: given, name, onInput, lines, ...input }: FieldProps) {
  const { label, help } = wordsBeside(input)
  const id = useId()
  const line = useRef<Line>(null)
  // A browser cuts off what is longer, and says nothing.
  useLayoutEffect(() => {
    const { maxLength: count = Number.POSITIVE_INFINITY } = input
    line.current?.setCustomValidity([...input.value].length > count ? t('parts.wrong.long', { count }) : '')
  }, [input.value, input.maxLength])
  useEffect(() => {
    if (input.isFocused === true) line.current?.focus()
  }, [])
  const { complaint, onInvalid, onLine } = useComplaint(input.value)
  const refusal = useRefusal(name, label, input.value)
  const error = given ?? complaint ?? refusal
  const shared = {
    id,
    ref: line as never,
    value: input.value,
    required: input.isRequired === true,
    disabled: input.isDisabled === true,
    'aria-invalid': error !== undefined,
    'aria-describedby': describedBy(id, help, error),
    onInvalid,
    onInput: (event: { readonly currentTarget: Line }) => {
      onLine(event.currentTarget)
      onInput(event.currentTarget.value)
    },
    placeholder: input.placeholder,
    minLength: input.minLength,
  }
  return (
    <Around id={id} label={label} help={help} error={error}>
      {lines === undefined ? (
        <Input
          {...shared}
          type={input.type ?? 'text'}
          autocomplete={input.autocomplete ?? 'off'}
          inputMode={input.inputMode}
          pattern={input.pattern}
          min={input.min}
          max={input.max}
          list={input.choices === undefined ? undefined : `${id}-choices`}
        />
      ) : (
        <textarea {...shared} rows={lines} />
      )}
      {input.choices === undefined ? null : (
        <datalist id={`${id}-choices`}>
          {input.choices.map(({ value, label: what }) => (
            <option key={value} value={value}>
              {what}
            </option>
          ))}
        </datalist>
      )}
    </Around>
  )
}

export interface SelectProps extends Labelled {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly { readonly value: string; readonly label: string }[]
  readonly isDisabled?: boolean
}

export function Select({ error: given, name, value, onChange, options, ...rest }: SelectProps) {
  const { label, help } = wordsBeside(rest)
  const id = useId()
  const refusal = useRefusal(name, label, value)
  const error = given ?? refusal
  return (
    <Around id={id} label={label} help={help} error={error}>
      <select
        id={id}
        value={value}
        disabled={rest.isDisabled === true}
        aria-invalid={error !== undefined}
        aria-describedby={describedBy(id, help, error)}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </Around>
  )
}

/** A box to tick, with what it means beside it. */
export function Checkbox({
  isChecked,
  onChange,
  isDisabled = false,
  ...words
}: Omit<Labelled, 'error' | 'name'> & {
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly isDisabled?: boolean
}) {
  const id = useId()
  const { label, help } = wordsBeside(words)
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        disabled={isDisabled}
        aria-describedby={describedBy(id, help, undefined)}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {help === undefined ? null : (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  )
}

/** A set with another value in it, or without one that was. */
export function toggled<Value>(chosen: ReadonlySet<Value>, value: Value): ReadonlySet<Value> {
  const next = new Set(chosen)
  if (!next.delete(value)) next.add(value)
  return next
}

/** Boxes to tick, any of them, under what they are about. */
export function Checkboxes({
  legend,
  options,
  chosen,
  onChange,
}: {
  readonly legend?: string
  readonly options: readonly { readonly value: string; readonly label: string; readonly help?: string }[]
  readonly chosen: ReadonlySet<string>
  readonly onChange: (chosen: ReadonlySet<string>) => void
}) {
  const boxes = options.map(({ value, ...words }) => (
    <Checkbox
      key={value}
      {...words}
      isChecked={chosen.has(value)}
      onChange={() => onChange(toggled(chosen, value))}
    />
  ))
  if (legend === undefined) return <>{boxes}</>
  return (
    <fieldset>
      <legend>{legend}</legend>
      {boxes}
    </fieldset>
  )
}

/** What is typed into the fields of a form: `of` gives a field its name, its value, and takes what is typed next. */
export function useTyped<Typed extends object>(start: Typed): TypedFields<Typed> {
  const [typed, setTyped] = useState(start)
  return { typed, setTyped, ...fieldsOf(typed, setTyped) }
}

/** The same of what is kept elsewhere: `turn` has that changed as it is by then, since two fields may tell of a change at once. */
export function fieldsOf<Typed extends object>(
  typed: Typed,
  turn: (change: (typed: Typed) => Typed) => void,
): Pick<TypedFields<Typed>, 'of'> {
  return {
    of: (name) => {
      const set = (value: string): void => turn((now) => ({ ...now, [name]: value }))
      return { name, value: String(typed[name] ?? ''), onInput: set, onChange: set }
    },
  }
}

interface TypedFields<Typed> {
  readonly typed: Typed
  readonly setTyped: (typed: Typed) => void
  readonly of: (name: keyof Typed & string) => {
    readonly name: string
    readonly value: string
    readonly onInput: (value: string) => void
    readonly onChange: (value: string) => void
  }
}

/** What describes a line: its help, and what is wrong with it. */
export function describedBy(
  id: string,
  help: string | undefined,
  error: string | undefined,
): string | undefined {
  const ids = [help === undefined ? [] : [`${id}-help`], error === undefined ? [] : [`${id}-error`]].flat()
  return ids.length === 0 ? undefined : ids.join(' ')
}

/** What stands around a line: its label, its help, what is wrong with it. */
export function Around({
  id,
  label,
  help,
  error,
  children,
}: {
  readonly id: string
  readonly label: string
  readonly help: string | undefined
  readonly error: string | undefined
  readonly children: ComponentChildren
}) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {help === undefined ? null : (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
      {error === undefined ? null : (
        <p id={`${id}-error`} class="wrong">
          {error}
        </p>
      )}
    </div>
  )
}

/** A labelled choice of one file. */
export function FileField({
  accept,
  isRequired = true,
  onChoose,
  ...words
}: Pick<FieldProps, 'label' | 'help' | 'text'> & {
  /** Endings, `.tgz,.gz`: what the browser offers first. */
  readonly accept?: string
  readonly isRequired?: boolean
  readonly onChoose: (file: File | undefined) => void
}) {
  const id = useId()
  const { label, help } = wordsBeside(words)
  const { complaint, onInvalid, onLine } = useComplaint()
  return (
    <Around id={id} label={label} help={help} error={complaint}>
      <input
        id={id}
        type="file"
        accept={accept}
        required={isRequired}
        aria-invalid={complaint !== undefined}
        aria-describedby={describedBy(id, help, complaint)}
        onInvalid={onInvalid}
        onChange={(event) => {
          onLine(event.currentTarget)
          onChoose(event.currentTarget.files?.[0])
        }}
      />
    </Around>
  )
}

/** What lines have in common, whatever their type. */
interface InputProps {
  readonly [name: string]: unknown
  readonly onInput?: (event: { readonly currentTarget: HTMLInputElement }) => void
  readonly onKeyDown?: (event: KeyboardEvent) => void
}

/** An `input` whose type and role are known at run time alone: the types of Preact ask for one of each role's own. */
export const Input = 'input' as unknown as ComponentType<InputProps>
