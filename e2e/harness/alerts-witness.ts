import { setTimeout as wait } from 'node:timers/promises'
import { assert, eventually } from '@steeple/testkit'
import type { WebhookReceiver } from './webhook-receiver.ts'

/** An alert as the API shows it. */
export interface SeenAlert {
  readonly id: string
  readonly rule: string
  readonly subject: string
  readonly state: string
  readonly value: number | null
  readonly message: string
}

/** Asks a service. */
export type Get = (path: string) => Promise<{ readonly status: number; readonly body: unknown }>

/** What people see of the alerts of a service, in its list and at its receiver. */
export interface AlertsWitness {
  /** All alerts, history included. */
  alerts(query?: string): Promise<readonly SeenAlert[]>
  /** Waits until this alert fires and its receiver was told; gives it. */
  fires(rule: string, subject: string): Promise<SeenAlert>
  /** Waits until it is over and its receiver was told. */
  ends(alert: SeenAlert): Promise<void>
  /** Every alert has begun once and ended once at most, and was told so in this order. */
  judge(): Promise<void>
}

/** A configuration with one rule for each number of SIMs up to `most`: each that is issued makes one more fire, for good. */
export function ruleForEachSim(most: number, url: string, secretFile: string): string {
  const rules = Array.from({ length: most }, (_, index) => ({
    name: `sims_${index + 1}`,
    metric: 'svc_sim_state',
    op: '>=',
    threshold: index + 1,
    for: '0s',
    severity: 'info',
  }))
  const webhooks = [{ name: 'ops', url, secret_file: secretFile, allow_private: true }]
  // JSON is YAML.
  return JSON.stringify({ alerts: { enabled: true, interval: '1s', rules, webhooks } })
}

/** Minutes of `for` and `clear_for`, and a busy machine. */
const PATIENCE_MS = 240_000
/** Between two looks: what is waited for takes a minute, and asking is work for the machine. */
const PAUSE_MS = 1_000

/** As `eventually`, for what takes minutes. */
export async function patiently<T>(look: () => Promise<T>): Promise<T> {
  return await eventually(async () => {
    await wait(PAUSE_MS)
    return await look()
  }, PATIENCE_MS)
}

/** A witness of the service behind `get` and of its receiver. */
export function alertsWitness(get: Get, receiver: WebhookReceiver): AlertsWitness {
  const alerts = async (query = ''): Promise<readonly SeenAlert[]> => {
    const { status, body } = await get(`/v1/alerts?limit=500${query}`)
    assert.is(status, 200, JSON.stringify(body))
    // The route documents it.
    return (body as { readonly alerts: readonly SeenAlert[] }).alerts
  }
  const told = (type: string, id: string): number =>
    new Set(
      receiver.deliveries
        .filter(({ payload }) => payload.type === type && payload.data.id === id)
        .map((one) => one.id),
    ).size
  return {
    alerts,
    fires: (rule, subject) =>
      patiently(async () => {
        const open = await alerts(`&rule=${rule}`)
        const found = open.find((one) => one.subject === subject && one.state === 'firing')
        if (found === undefined)
          throw new Error(`${rule} of ${subject} does not fire: ${JSON.stringify(open)}`)
        assert.is(told('alert.firing', found.id), 1, `the receiver is told of ${rule}`)
        return found
      }),
    ends: ({ id, rule, subject }) =>
      patiently(async () => {
        const all = await alerts(`&rule=${rule}`)
        assert.is(all.find((one) => one.id === id)?.state, 'resolved', `${rule} of ${subject} is not over`)
        assert.is(told('alert.resolved', id), 1, `the receiver is told of the end of ${rule}`)
      }),
    judge: async () => {
      assert.is(receiver.forged, 0)
      for (const { id, rule, subject, state } of await alerts()) {
        if (state === 'pending') continue
        const types = receiver.deliveries
          .filter(({ payload }) => payload.data.id === id)
          .map(({ payload }) => payload.type)
        const expected = ['alert.firing', ...(state === 'resolved' ? ['alert.resolved'] : [])]
        assert.equal([...new Set(types)], expected, `${rule} of ${subject}`)
      }
    },
  }
}
