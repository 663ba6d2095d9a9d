import type { Problem } from '@steeple/client'
import { createContext } from 'preact'
import { useContext, useRef } from 'preact/hooks'
import { refusalText } from './complaint.ts'

type Details = Problem['details']

/** What the fields of a form know of what became of it. */
interface FormProblem {
  /** What the service has refused of it last. */
  readonly details: Details
  /** What its fields are called and hold, by their pointers. */
  readonly fields: Map<string, FieldThere>
}

interface FieldThere {
  readonly label: string
  readonly value: string
}

/** One of several values of a field, which stand by commas or lines. */
const IN_LIST = /\/(\d+)$/

/** The one of several that a pointer means; of a field that holds one: that. */
export function partOf(value: string, pointer: string): string {
  const [, at] = IN_LIST.exec(pointer) ?? []
  return at === undefined ? value : (value.split(/[\s,]+/).filter((part) => part !== '')[Number(at)] ?? '')
}

const NO_DETAILS: Details = []
/** The form that a field is in. */
export const FormProblems = createContext<FormProblem>({ details: NO_DETAILS, fields: new Map() })

/** Why the service refused what is in a field, until something else is. `name` is its JSON pointer without the first slash. */
export function useRefusal(name: string | undefined, label: string, value: string): string | undefined {
  const { details, fields } = useContext(FormProblems)
  const refused = useRef({ details: NO_DETAILS, value })
  if (refused.current.details !== details) refused.current = { details, value }
  if (name === undefined) return undefined
  const pointer = `/${name}`
  fields.set(pointer, { label, value })
  const detail =
    value === refused.current.value && details.find((one) => one.pointer.replace(IN_LIST, '') === pointer)
  return detail === false || detail === undefined
    ? undefined
    : refusalText(detail, partOf(value, detail.pointer))
}

/** What a field is called and holds, by its pointer; of one that no field has: the last part of that is its name. */
export function useFields(): (pointer: string) => FieldThere {
  const { fields } = useContext(FormProblems)
  return (pointer) => {
    const [field, ofList] = [fields.get(pointer), fields.get(pointer.replace(IN_LIST, ''))]
    if (field !== undefined) return field
    if (ofList !== undefined) return { ...ofList, value: partOf(ofList.value, pointer) }
    return { label: pointer.split('/').at(-1) ?? pointer, value: '' }
  }
}
