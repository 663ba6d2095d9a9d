import { readFile } from 'node:fs/promises'
import { southboundUnavailable } from '@steeple/contracts'
import { AnswerTooLong, codeOf, type HttpAnswer, type HttpRequest, requestOnce } from '@steeple/http-client'
import { secretOf } from './cell-switch.ts'

const MOST_OCTETS = 1_048_576
const HEADER_VALUE = /^[\x20-\x7e]+$/

/** Who is called, and as whom. */
export interface HttpAccess {
  readonly authorization_file?: string
  readonly ca_file?: string
}

/** One call to a switch. Throws `southbound_unavailable`; no secret and nothing of the answer is in it. */
export async function callSwitch(
  { authorization_file: tokenFile, ca_file: caFile }: HttpAccess,
  { headers, ...request }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const authorization = tokenFile === undefined ? undefined : await secretOf(tokenFile)
  if (authorization !== undefined && !HEADER_VALUE.test(authorization))
    throw southboundUnavailable(`${tokenFile} holds no value of a header`)
  const ca = caFile === undefined ? undefined : await caOf(caFile)
  const where = `${request.url.origin}${request.url.pathname}`
  try {
    return await requestOnce(
      { maxBytes: MOST_OCTETS, ...(ca === undefined ? {} : { connect: { ca } }) },
      { ...request, headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) } },
      signal,
    )
  } catch (error) {
    if (signal.aborted) throw southboundUnavailable(`${where} did not answer in time`, { cause: error })
    const why = error instanceof AnswerTooLong ? error.message : codeOf(error) || 'it broke the connection'
    throw southboundUnavailable(`${where} cannot be asked: ${why}`, { cause: error })
  }
}

/** The JSON of an answer. Throws `southbound_unavailable` when it is none. */
export function jsonOf({ text }: HttpAnswer, url: URL): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw southboundUnavailable(`${url.origin}${url.pathname} answered with no JSON`, { cause: error })
  }
}

async function caOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: unknown) => {
    throw southboundUnavailable(`${path} cannot be read: ${codeOf(error)}`, { cause: error })
  })
}
