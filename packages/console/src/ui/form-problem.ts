import type { Problem } from '@steeple/client'
import { createContext } from 'preact'
import { useContext, useRef } from 'preact/hooks'
import { refusalText } from './complaint.ts'

type Details = Problem['details']

/** What the fields of a form know of what became of it. */
interface FormProblem {
  /** What the service has refused of it last. */
  readonly details: Details
  /** What its fields are called, by their pointers. */
  readonly labels: Map<string, string>
}

const NO_DETAILS: Details = []
/** The form that a field is in. */
export const FormProblems = createContext<FormProblem>({ details: NO_DETAILS, labels: new Map() })

/** Why the service refused what is in a field, until something else is. `name` is its JSON pointer without the first slash. */
export function useRefusal(name: string | undefined, label: string, value: string): string | undefined {
  const { details, labels } = useContext(FormProblems)
  const refused = useRef({ details: NO_DETAILS, value })
  if (refused.current.details !== details) refused.current = { details, value }
  if (name === undefined) return undefined
  const pointer = `/${name}`
  labels.set(pointer, label)
  const detail = value === refused.current.value && details.find((one) => one.pointer === pointer)
  return detail === false || detail === undefined ? undefined : refusalText(detail)
}

/** What a field is called, by its pointer; of one that no field has: the last part of that. */
export function useLabels(): (pointer: string) => string {
  const { labels } = useContext(FormProblems)
  return (pointer) => labels.get(pointer) ?? pointer.split('/').at(-1) ?? pointer
}
