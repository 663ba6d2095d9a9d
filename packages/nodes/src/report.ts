import {
  type Context,
  type IncidentBoard,
  type LifecycleState,
  type NodeReport,
  type NodeReporter,
  subscribersRef,
  type TxGateState,
  timestampFromMs,
  txGateRef,
  usageLedgerRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import type { RadioLook } from './service-routes.ts'

/** Of those of one node. */
const MOST_INCIDENTS = 16

/** What this node tells of itself. What one of those that are asked does not tell is not known: its own health says why. */
export function nodeReporter(
  context: Context,
  lifecycle: { state(): Promise<LifecycleState> },
  look: RadioLook,
  incidents: IncidentBoard,
): NodeReporter {
  return {
    report: async (): Promise<NodeReport> => {
      const [state, gate, radio, counts, octets, backlog, outages] = await Promise.all([
        lifecycle.state(),
        gateOf(context),
        look(),
        known(context.maybe(subscribersRef)?.counts()),
        known(context.maybe(usageLedgerRef)?.today?.()),
        known(context.maybe(subscribersRef)?.backlog?.()),
        incidents.current(),
      ])
      const live = ['issued', 'in-use', 'suspended'] as const
      return {
        lifecycle: state,
        plmn: formatPlmn(context.settings.plmn),
        on_air: gate === undefined ? null : gate.armed,
        radio_connected: radio.isConnected,
        channel: gate?.radio === undefined ? null : `${gate.radio.technology} ${gate.radio.channel}`,
        phones: radio.attachedUes,
        sims: counts === undefined ? null : live.reduce((sum, one) => sum + (counts.get(one) ?? 0), 0),
        octets_today: octets ?? null,
        backlog: backlog ?? null,
        incidents: outages.slice(0, MOST_INCIDENTS).map(({ kind, severity, title, sinceMs }) => ({
          ...{ kind, severity, title },
          since: timestampFromMs(sinceMs),
        })),
      }
    },
  }
}

/** Without a gate nothing is permitted; undefined while it cannot judge. */
async function gateOf(context: Context): Promise<Pick<TxGateState, 'armed' | 'radio'> | undefined> {
  const gate = context.maybe(txGateRef)
  return gate === undefined ? { armed: false } : await known(gate.state())
}

async function known<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  return await answer?.catch(() => undefined)
}
