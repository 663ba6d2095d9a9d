import { isServiceError, southboundUnavailable } from '@steeple/contracts'

const REMEDIES: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'it does not exist; create it, and mount it into the containers of the core'],
  ['ENOTDIR', 'it is not a directory'],
  ['EACCES', 'this service may not write there; give it the right to'],
  ['EPERM', 'this service may not write there; give it the right to'],
  ['EROFS', 'it is on a read-only file system'],
  ['ENOSPC', 'the disk is full; make room'],
  ['EDQUOT', 'the quota is used up; make room'],
  ['EIO', 'the disk does not work'],
])

/** The code of a system error, such as `ENOENT`. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

/** What a failure to use `dir` means, as `southbound_unavailable` that names it and what to do. */
export function diskError(dir: string, error: unknown): Error {
  if (isServiceError(error)) return error
  const code = codeOf(error)
  const remedy = REMEDIES.get(code) ?? `it cannot be used (${String(code ?? 'unknown')})`
  return southboundUnavailable(`the directory ${dir}: ${remedy}`, { cause: error })
}
