import { createHash } from 'node:crypto'
import {
  authenticateServerOn,
  cancelSessionOn,
  challengeOf,
  type Euicc,
  info1Of,
  notificationsOn,
  prepareDownloadOn,
  retrieveOn,
  segmentsOf,
} from '@steeple/virtual-euicc'
import { codeOf, type World } from './world.ts'

/** The body of a request, and of an answer. */
export type Fields = Readonly<Record<string, string>>

/** A phone that goes step by step. Each step gives the request that it would send. */
export interface Handset {
  readonly euicc: Euicc
  initiate(): Fields
  /** Out of the answer to `initiate`. */
  authenticate(answer: Fields, matchingId: string | undefined): Fields
  /** Out of the answer to `authenticate`. */
  prepare(answer: Fields, confirmation?: string): Fields
  cancel(answer: Fields, reason: number): Fields
  /** Installs what came; the notifications that wait then. */
  install(answer: Fields): readonly Fields[]
  notifications(): readonly Fields[]
}

export const base64 = (octets: Uint8Array): string => Buffer.from(octets).toString('base64')
export const octetsIn = (fields: Fields, name: string): Uint8Array =>
  Uint8Array.from(Buffer.from(fields[name] ?? '', 'base64'))

export function handset(euicc: Euicc, smdpAddress: string): Handset {
  const notifications = () =>
    notificationsOn(euicc).map(({ sequence }) => ({
      pendingNotification: base64(retrieveOn(euicc, sequence) ?? new Uint8Array()),
    }))
  return {
    euicc,
    notifications,
    initiate: () => ({
      euiccChallenge: base64(challengeOf(euicc)),
      euiccInfo1: base64(info1Of(euicc)),
      smdpAddress,
    }),
    authenticate: (answer, matchingId) => ({
      transactionId: answer.transactionId ?? '',
      authenticateServerResponse: base64(
        authenticateServerOn(euicc, {
          serverSigned1: octetsIn(answer, 'serverSigned1'),
          serverSignature1: octetsIn(answer, 'serverSignature1'),
          ciPkid: octetsIn(answer, 'euiccCiPKIdToBeUsed'),
          certificate: octetsIn(answer, 'serverCertificate'),
          matchingId,
        }),
      ),
    }),
    prepare: (answer, confirmation) => ({
      transactionId: answer.transactionId ?? '',
      prepareDownloadResponse: base64(
        prepareDownloadOn(
          euicc,
          octetsIn(answer, 'smdpSigned2'),
          octetsIn(answer, 'smdpSignature2'),
          octetsIn(answer, 'smdpCertificate'),
          confirmation === undefined ? undefined : hashOf(confirmation, answer.transactionId ?? ''),
        ),
      ),
    }),
    cancel: (answer, reason) => ({
      transactionId: answer.transactionId ?? '',
      cancelSessionResponse: base64(
        cancelSessionOn(euicc, Buffer.from(answer.transactionId ?? '', 'hex'), reason),
      ),
    }),
    install: (answer) => {
      for (const segment of segmentsOf(octetsIn(answer, 'boundProfilePackage'))) {
        if (euicc.execute(segment).length > 0) break
      }
      return notifications()
    },
  }
}

/** As an LPA makes it. Facts section 1.4. */
function hashOf(code: string, tid: string): Uint8Array {
  const inner = createHash('sha256').update(code).digest()
  return createHash('sha256').update(inner).update(Buffer.from(tid, 'hex')).digest()
}

/** An answer that went well; fails the test otherwise. */
export async function good(all: World, name: string, body: unknown): Promise<Fields> {
  const answer = await all.call(name, body)
  if (answer.code !== 'ok') throw new Error(`${name} was refused: ${codeOf(answer.body)}`)
  // What went well is texts beside the header.
  return answer.body as Fields
}

/** A session as far as wished, each step going well. */
export async function authenticated(
  all: World,
  phone: Handset,
  matchingId: string | undefined,
): Promise<{ readonly first: Fields; readonly request: Fields; readonly answer: Fields }> {
  const first = await good(all, 'initiateAuthentication', phone.initiate())
  const request = phone.authenticate(first, matchingId)
  return { first, request, answer: await good(all, 'authenticateClient', request) }
}
