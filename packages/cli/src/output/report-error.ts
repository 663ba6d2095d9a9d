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

function faultOf(error: unknown): Fault {
  if (error instanceof CommandError) return error
  const { code, message, details } = error as {
    readonly code?: unknown
    readonly message?: unknown
    readonly details?: unknown
  }
  return {
    exitCode: 1,
    code: typeof code === 'string' ? code : 'internal',
    message: typeof message === 'string' ? message : String(error),
    // A `ServiceError` of the kernel carries its details in this very shape.
    details: Array.isArray(details) ? (details as Fault['details']) : [],
    requestId: undefined,
    hint: undefined,
  }
}

function asText(fault: Fault): string {
  const name = fault.exitCode === 2 ? 'svc' : fault.code
  // Its message has a line for each problem already, with its place in the file.
  const isListed = fault.code === 'config_invalid'
  const message = isListed ? fault.message.split('\n').map(printable).join('\n') : printable(fault.message)
  const lines = [`${name}: ${message}`]
  const [first] = fault.details
  const isSaid = fault.details.length === 1 && first !== undefined && fault.message.includes(first.message)
  const details = isListed || isSaid ? [] : fault.details
  for (const detail of details) {
    const where = detail.pointer === '' ? '' : `${printable(detail.pointer)}: `
    lines.push(`  ${where}${printable(detail.message)}`)
  }
  if (fault.requestId !== undefined) lines.push(`  request id: ${printable(fault.requestId)}`)
  if (fault.hint !== undefined) lines.push(`  ${fault.hint}`)
  return `${lines.join('\n')}\n`
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
