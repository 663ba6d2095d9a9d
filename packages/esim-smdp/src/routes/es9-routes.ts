import {
  defineError,
  type ErrorFactory,
  forbidden,
  type JsonSchema,
  objectSchema,
  type Route,
  route,
} from '@steeple/contracts'
import { esimDisabled } from '../codes/conflict.ts'
import { ES9_FUNCTIONS, type Es9Function } from '../es9/core.ts'
import type { Es9 } from '../es9/es9.ts'
import { blockList, plainCaller } from '../es9/peers.ts'
import type { EsimParts } from '../parts.ts'

/** What LPAs call, and the same without the prefix. Facts section 0. */
export const ES9_PREFIXES = ['/gsma/rsp2/es9plus', '/es9plus'] as const
const SUMMARIES: Readonly<Record<Es9Function, string>> = {
  initiateAuthentication: 'Begin a session of a phone with this SM-DP+',
  authenticateClient: 'Authenticate an eUICC and offer it the profile of its activation code',
  getBoundProfilePackage: 'Deliver a profile, bound to one eUICC',
  handleNotification: 'Take a notification of an eUICC',
  cancelSession: 'End a session',
}
const plainPathClosed: ErrorFactory = defineError(
  forbidden.code,
  forbidden.status,
  'ES9+ without TLS is for this machine and the proxies that esim.behind_proxy names; phones come by esim.listen',
)
const TEXT: JsonSchema = { type: 'string' }
/** Members of the answers beside the header. SGP.22 §6.5.2. */
const MEMBERS: Readonly<Record<Es9Function, readonly string[]>> = {
  initiateAuthentication: [
    'transactionId',
    'serverSigned1',
    'serverSignature1',
    'euiccCiPKIdToBeUsed',
    'serverCertificate',
  ],
  authenticateClient: [
    'transactionId',
    'profileMetadata',
    'smdpSigned2',
    'smdpSignature2',
    'smdpCertificate',
  ],
  getBoundProfilePackage: ['transactionId', 'boundProfilePackage'],
  handleNotification: [],
  cancelSession: ['transactionId'],
}
const STATUS: JsonSchema = objectSchema({
  status: { type: 'string', enum: ['Executed-Success', 'Failed'] },
  statusCodeData: objectSchema({ subjectCode: TEXT, reasonCode: TEXT, message: TEXT }),
})

function answerOf(name: Es9Function): JsonSchema {
  return {
    ...objectSchema({
      header: objectSchema({ functionExecutionStatus: STATUS }),
      ...Object.fromEntries(MEMBERS[name].map((member) => [member, TEXT])),
    }),
    description:
      'SGP.22 §6.5: `header.functionExecutionStatus` says how it went, also when it failed; the other members are base64 of DER.',
  }
}

/** ES9+ by the edge: the plain path, for whoever ends TLS before it on this machine or at a named proxy. */
export function es9Routes(parts: EsimParts, es9: Es9): readonly Route[] {
  const { config } = parts.context
  const proxies = blockList(config.behind_proxy)
  return ES9_PREFIXES.flatMap((prefix) =>
    ES9_FUNCTIONS.map((name) =>
      route<unknown, unknown, Uint8Array | undefined>({
        method: 'POST',
        path: `${prefix}/${name}`,
        role: 'public',
        rawBody: true,
        summary: SUMMARIES[name],
        description:
          'SGP.22 ES9+. Open to loopback and to the proxies of `esim.behind_proxy` alone; phones come by `esim.listen`.',
        schema: name === 'handleNotification' ? { status: 204 } : { response: answerOf(name), status: 200 },
        errors: [esimDisabled.code, forbidden.code],
        audit: { none: 'what a phone does is observed: it is told by events' },
        handle: async (request) => {
          if (!config.enabled) throw esimDisabled()
          const network = plainCaller(
            request.proxy?.address ?? request.peerAddress,
            request.header('x-forwarded-for'),
            proxies,
          )
          if (network === undefined) throw plainPathClosed()
          const { status, headers, body } = await es9.call(name, request.body ?? NOTHING, network)
          return { status, headers, ...(body !== undefined && { body }) }
        },
      }),
    ),
  )
}

const NOTHING = new Uint8Array()
