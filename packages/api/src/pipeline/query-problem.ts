import type { IncomingMessage } from 'node:http'
import type { RequestProblem } from './header-problem.ts'

const PROBLEM: RequestProblem = {
  message: 'the query is not percent-encoded UTF-8 (RFC 3986 §2.1); write % itself as %25',
  isFraming: false,
}

/** Whoever reads such a query takes the octets as they are, or others: a filter would look for what nobody has asked for. */
export function queryProblem({ url = '' }: IncomingMessage): RequestProblem | undefined {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('%', start)) return undefined
  try {
    decodeURIComponent(url.slice(start))
    return undefined
  } catch {
    return PROBLEM
  }
}
