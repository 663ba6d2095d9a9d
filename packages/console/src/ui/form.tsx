import type { Problem, Result } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type After, useAction } from '../api/use-query.ts'
import { t } from '../text/index.ts'
import { Button, type ButtonProps } from './button.tsx'
import { FormProblems } from './form-problem.ts'
import { ErrorNotice } from './notice.tsx'

/** How far the sending of a form is, for what stands in it. */
export interface FormState<Data> {
  readonly isBusy: boolean
  /** Why the last try failed, until the next one or `clear`. */
  readonly error: Problem | undefined
  readonly clear: () => void
  /** Sends something else than the form does, with the same end. */
  readonly send: (act: Act<Data>) => void
}

/** Sends what is filled in; undefined where that is not to be sent yet, or says itself what became of it. */
type Act<Data> = () => Promise<Result<Data> | undefined>

/** What a form sends, and what its buttons say. */
export interface FormProps<Data>
  extends Pick<ButtonProps, 'kind' | 'icon' | 'isBusy' | 'isDisabled'>,
    After<Data> {
  readonly act: Act<Data>
  /** The fields; they may depend on how far the sending is. */
  readonly children?: ComponentChildren | ((state: FormState<Data>) => ComponentChildren)
  /** What the button says: the verb of what will be done. Absent: buttons stand among the fields. */
  readonly submit?: ComponentChildren
  /** Why it failed, where that is known outside. */
  readonly error?: Problem | undefined
  /** Somebody else was first, and the fields let choose: until then nothing is sent, and what was refused says nothing more. */
  readonly isStale?: boolean
  readonly onCancel?: (() => void) | undefined
  readonly cancel?: string
  /** What stands beside the buttons. */
  readonly beside?: ComponentChildren
  /** How its fields stand. */
  readonly look?: string
  /** What is said while it is sent, where that may take seconds. */
  readonly busy?: string
}

/** Forms in which something was typed that was not sent yet. */
const typedIn = new Set<HTMLFormElement>()

/** Whether something is typed anywhere that would be lost on another page. */
export function isSomethingTyped(): boolean {
  return typedIn.size > 0
}

/** Fields that one button sends. Why it failed is said above the button, and nothing that was filled in is lost. */
export function Form<Data>({
  act,
  onDone,
  done,
  children,
  submit,
  error: given,
  isBusy: isBusyOutside = false,
  isDisabled = false,
  isStale = false,
  onCancel,
  cancel = t('ui.cancel'),
  beside,
  look = 'stack',
  busy,
  ...button
}: FormProps<Data>) {
  const action = useAction((other: Act<Data>) => other(), { done, onDone })
  const isBusy = action.isBusy || isBusyOutside
  const error = isStale ? undefined : (given ?? action.error)
  const fields = useMemo(() => new Map(), [])
  const known = useMemo(() => ({ details: error?.details ?? [], fields }), [error])
  const element = useRef<HTMLFormElement>(null)
  const forget = (): void => {
    if (element.current !== null) typedIn.delete(element.current)
  }
  useEffect(() => {
    const own = element.current
    return () => {
      if (own !== null) typedIn.delete(own)
    }
  }, [])
  const send = async (other: Act<Data>): Promise<void> => {
    const result = await action.run(other)
    if (result?.ok !== false) forget()
  }
  return (
    <form
      ref={element}
      class={look}
      onInput={({ currentTarget }) => typedIn.add(currentTarget)}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy && !isDisabled && !isStale) void send(act)
      }}
    >
      <FormProblems.Provider value={known}>
        {typeof children === 'function'
          ? children({ isBusy, error, clear: action.clear, send: (other) => void send(other) })
          : children}
        {error === undefined ? null : <ErrorNotice error={error} />}
        {isBusy && busy !== undefined ? <p role="status">{busy}</p> : null}
      </FormProblems.Provider>
      {submit === undefined ? null : (
        <div class="actions">
          {onCancel === undefined ? null : <Button onClick={onCancel}>{cancel}</Button>}
          <Button {...button} type="submit" isBusy={isBusy} isDisabled={isDisabled || isStale}>
            {submit}
          </Button>
          {beside}
        </div>
      )}
    </form>
  )
}
