import { CommandError } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { printable } from './table.ts'

interface Fault {
  readonly exitCode: number
  readonly code: string
  readonly message: string
  readonly details: readonly { readonly pointer: string; readonly message: string }[]
  readonly requestId: string | undefined
  readonly hint: string | undefined
}

/** Says on standard error what went wrong, in words or (`isJson`) in the service's error shape, and gives the exit code. */
export function reportError(terminal: Terminal, error: unknown, isJson: boolean): number {
  const fault = faultOf(error)
  terminal.err(isJson && fault.exitCode !== 2 ? asJson(fault) : asText(fault))
  return fault.exitCode
}

/** What is to be done about what the system refuses. errno(3) */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'give it to the user that runs this, or run this as the user that owns it',
  EDQUOT: 'the quota of the disk is used up; make room and try again',
  ENOSPC: 'the disk is full; make room and try again',
  ENOTDIR: 'a file lies in the place of a folder; name another folder, or move the file away',
  EPERM: 'give it to the user that runs this, or run this as the user that owns it',
  EROFS: 'the disk is mounted for reading alone; name a folder on another one',
}

function faultOf(error: unknown): Fault {
  if (error instanceof CommandError) return error
  const { code, message, details } = error as {
    readonly code?: unknown
    readonly message?: unknown
    readonly details?: unknown
  }
  const name = typeof code === 'string' ? code : 'internal'
  const text = typeof message === 'string' ? message : String(error)
  return {
    exitCode: 1,
    code: name,
    message: withRemedy(name, text),
    // A `ServiceError` of the kernel carries its details in this very shape.
    details: Array.isArray(details) ? (details as Fault['details']) : [],
    requestId: undefined,
    hint: undefined,
  }
}

/** What the system says begins with its code, and says nothing of what to do. In one line, which is all that many logs keep of an end. */
function withRemedy(code: string, text: string): string {
  const words = text.startsWith(`${code}: `) ? text.slice(code.length + 2) : text
  const remedy = REMEDIES[code]
  return remedy === undefined ? words : `${words}; ${remedy}`
}

function asText(fault: Fault): string {
  const name = fault.exitCode === 2 ? 'svc' : fault.code
  // Its message has a line for each problem already, with its place in the file.
  const isListed = fault.code === 'config_invalid'
  const message = isListed ? fault.message.split('\n').map(printable).join('\n') : printable(fault.message)
  const lines = [`${name}: ${message}`]
  const said = wordsOf(fault.message)
  const details = isListed ? [] : fault.details.filter((one) => !said.includes(wordsOf(one.message)))
  for (const detail of details) {
    const where = detail.pointer === '' ? '' : `${printable(detail.pointer)}: `
    lines.push(`  ${where}${printable(detail.message)}`)
  }
  if (fault.requestId !== undefined) lines.push(`  request id: ${printable(fault.requestId)}`)
  if (fault.hint !== undefined) lines.push(`  ${fault.hint}`)
  return `${lines.join('\n')}\n`
}

/** The words alone: a message says a reason in brackets that a detail says behind a colon. */
function wordsOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim()
}

function asJson(fault: Fault): string {
  const error = {
    code: fault.code,
    message: fault.message,
    ...(fault.details.length === 0 ? {} : { details: fault.details }),
  }
  const body = { error, ...(fault.requestId === undefined ? {} : { request_id: fault.requestId }) }
  return `${JSON.stringify(body)}\n`
}
