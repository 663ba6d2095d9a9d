import { connect, constants } from 'node:http2'
import { type Imsi, southboundUnavailable } from '@steeple/contracts'

const ANSWER_MS = 3_000
/** TS 29.503 §6.1.6.2.5 (DeregistrationData). */
const BODY = JSON.stringify({ deregReason: 'SUBSCRIPTION_WITHDRAWN', accessType: '3GPP_ACCESS' })
const NO_CONTENT = 204
const NOT_FOUND = 404

/**
 * Has the AMF deregister a phone, as a UDM would: HTTP/2 in the clear, prior knowledge. `unknown`: the AMF has no such
 * phone.
 *
 * The IMSI is part of the path, so no error carries path or cause. Throws `southbound_unavailable` or the signal's
 * reason. Source: TS 29.503 §5.3.2.3.2.
 */
export async function deregNotify(
  origin: string,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<'accepted' | 'unknown'> {
  const status = await post(origin, `/namf-callback/v1/imsi-${imsi}/dereg-notify`, signal)
  if (status === NO_CONTENT) return 'accepted'
  if (status === NOT_FOUND) return 'unknown'
  throw southboundUnavailable(`amf did not take a deregistration: it answered ${status}`)
}

async function post(origin: string, path: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const session = connect(origin)
  const stop = (): void => reject(southboundUnavailable(`amf did not answer within ${ANSWER_MS} ms`))
  limit.addEventListener('abort', stop, { once: true })
  const fail = (error: NodeJS.ErrnoException): void =>
    reject(southboundUnavailable(`amf cannot be asked: ${error.code ?? 'the connection broke'}`))
  try {
    session.on('error', fail)
    session.on('close', () => fail(new Error('closed')))
    // Without a User-Agent: one that is no type of a network function is refused.
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: path,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json',
    })
    stream.on('error', fail)
    stream.on('response', (headers) => resolve(Number(headers[constants.HTTP2_HEADER_STATUS])))
    stream.end(BODY)
    return await promise
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    limit.removeEventListener('abort', stop)
    session.destroy()
  }
}
