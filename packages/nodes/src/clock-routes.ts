import {
  type ClockJudge,
  type Context,
  clockJudgeRef,
  fieldRefused,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'

const STATE_SCHEMA = recordSchema({
  status: { type: 'string', description: 'plausible or in_doubt; more may come.' },
  machine_time: { ...TIMESTAMP_SCHEMA, description: "What the machine's clock says." },
  service_time: {
    ...TIMESTAMP_SCHEMA,
    description: 'The time that the service goes by: the same, unless the clock is in doubt.',
  },
  doubt: { type: ['string', 'null'], description: "Why the machine's clock is not believed." },
})
const CONFIRM_SCHEMA = objectSchema({
  time: {
    ...TIMESTAMP_SCHEMA,
    description: "The time as you know it. Refused when the machine's clock is more than a minute off it.",
  },
})
const AGREES_MS = 60_000

/** `GET /v1/clock` and `POST /v1/clock/confirm`. Contract section 13. */
export function clockRoutes(context: Context): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/clock',
      role: 'viewer',
      summary: "Show whether the machine's clock is trusted",
      description:
        'A clock that jumps is not trusted. Until it is plausible again or confirmed, nothing expires, nothing is ' +
        'removed for its age, and nothing is renewed.',
      schema: { response: STATE_SCHEMA },
      handle: async () => ok(clockRecord(context.use(clockJudgeRef).view())),
    }),
    route<unknown, unknown, { readonly time?: string }>({
      method: 'POST',
      path: '/v1/clock/confirm',
      role: 'admin',
      summary: "Confirm that the machine's clock is right",
      description:
        'What is due happens at once: SIMs expire, old audit entries are removed. SIMs that expired because the clock ' +
        'was wrong return to their state before.',
      schema: { body: CONFIRM_SCHEMA, response: STATE_SCHEMA },
      audit: 'clock.confirm',
      handle: async (request) => {
        const judge = context.use(clockJudgeRef)
        const { machineMs, serviceMs } = judge.view()
        refuseOther(request.body.time, machineMs)
        await request.mutate('clock', async (tx) => {
          tx.audit({ detail: { machine: timestampFromMs(machineMs), service: timestampFromMs(serviceMs) } })
          return { status: 204 }
        })
        await judge.confirm()
        return ok(clockRecord(judge.view()))
      },
    }),
  ]
}

function refuseOther(time: string | undefined, machineMs: number): void {
  if (time === undefined || Math.abs(Date.parse(time) - machineMs) <= AGREES_MS) return
  const now = timestampFromMs(machineMs)
  throw fieldRefused(
    '/time',
    `is more than a minute off the machine's clock, which says ${now}; set that first`,
  )
}

function clockRecord({ machineMs, serviceMs, doubt }: ReturnType<ClockJudge['view']>) {
  return {
    status: doubt === undefined ? 'plausible' : 'in_doubt',
    machine_time: timestampFromMs(machineMs),
    service_time: timestampFromMs(serviceMs),
    doubt: doubt ?? null,
  }
}
