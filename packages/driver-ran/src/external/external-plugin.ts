import { resolve } from 'node:path'
import {
  type Context,
  type Instance,
  type RanDriver,
  type Route,
  ranDriverRef,
  type Settings,
  stateNews,
  systemPrincipal,
  type Transmitter,
  transmitterRef,
  txGateRef,
  validationFailed,
} from '@steeple/contracts'
import { radioMetrics } from '../radio-health.ts'
import { RADIO_KEY, RADIO_RESOURCE } from '../ran-driver.ts'
import type { RadioState } from '../supervisor/radio-state.ts'
import { cellNote } from './cell-note.ts'
import type { CellSwitch, SwitchConfig } from './cell-switch.ts'
import { commandSwitch } from './command-switch.ts'
import { nftClosing, notedClosing, openLeftBehind } from './core-closing.ts'
import { ExternalCell } from './external-cell.ts'
import { externalDriver, externalHealth } from './external-driver.ts'
import { genieacsSwitch } from './genieacs-switch.ts'
import { httpSwitch } from './http-switch.ts'
import { snmpSwitch } from './snmp-switch.ts'

/** The switch of the configuration, whose schema has been checked. */
function cellSwitch(ran: Settings['ran']): CellSwitch {
  const config = ran.external.switch as unknown as SwitchConfig // its schema says so
  if ('command' in config) return commandSwitch(config.command)
  if ('http' in config) return httpSwitch(config.http)
  if ('snmp' in config) return snmpSwitch(config.snmp)
  if ('genieacs' in config) return genieacsSwitch(config.genieacs, ran.external.technology)
  throw validationFailed('ran.external.switch names no switch: command, http, snmp or genieacs')
}

const STEP_BOUND_MS = 30_000
/** Within what a plugin may take to leave, ms. */
const STOP_BOUND_MS = 4_000
const OPEN_BOUND_MS = 2_000
const RESYNC_MS = 60_000
const BACKOFF = { firstMs: 1_000, longestMs: 1_000 }

/** The plugin for a cell that runs by itself. */
export function externalInstance(context: Context, routes: readonly Route[]): Instance {
  const { log } = context
  const { ran, server } = context.settings
  const directory = resolve(server.data_dir, 'ran')
  const metrics = radioMetrics(context.metrics)
  const tell = stateNews<RadioState>(context, 'off', ({ state, was }) => ({
    ...{ type: 'ran.state', subject: 'ran' },
    data: { state, was },
  }))
  const wake = (): void => {
    context.enqueue(RADIO_RESOURCE, RADIO_KEY)
    show()
  }
  const cell = new ExternalCell({
    context,
    cell: cellSwitch(ran),
    closing: notedClosing(nftClosing(), directory),
    note: cellNote(directory),
    events: {
      wake,
      started: (profile) => {
        metrics.started()
        log.info({ profile }, 'cell turned on')
      },
      stopped: (seconds) => metrics.stopped(seconds),
      cameBack: (because) => {
        log.error({ because }, 'a cell is on air that is not permitted')
        record(context, because)
      },
      certainty: () => context.changed(transmitterRef),
    },
  })
  const show = (): void => {
    const { state } = cell.snapshot()
    metrics.show({ state, isConnected: state === 's1_up' })
    tell(state)
  }
  context.onChange(txGateRef, wake)
  context.onSettings(wake)
  const transmitter: Transmitter = { stop: (signal) => cell.stop(signal), mayBeOn: () => cell.mayBeOn }
  return {
    routes,
    reconcilers: [
      {
        ...{
          resource: RADIO_RESOURCE,
          runs: 'machine',
          resyncMs: RESYNC_MS,
          timeoutMs: STEP_BOUND_MS,
          backoff: BACKOFF,
        },
        keys: async () => [RADIO_KEY],
        reconcile: () => cell.step().finally(show),
      },
    ],
    services: new Map<string, RanDriver | Transmitter>([
      [ranDriverRef.id, externalDriver(context, cell)],
      [transmitterRef.id, transmitter],
    ]),
    // Without an address nothing of this run would ever open it again.
    start: () => (ran.external.address === '' ? openAgain(context, directory) : Promise.resolve()),
    quiesce: () => cell.close(),
    stop: () => cell.close(STOP_BOUND_MS),
    health: async () => {
      await cell.refresh()
      return [externalHealth(context, cell.snapshot())]
    },
  }
}

/** Removes the table that keeps a cell out, where an earlier run has left it and nobody drives that cell any more. */
export async function openAgain({ log }: Pick<Context, 'log'>, directory: string): Promise<void> {
  await openLeftBehind(directory, AbortSignal.timeout(OPEN_BOUND_MS)).catch((error: unknown) =>
    log.error({ err: error }, 'the core stays closed to a cell; remove it: nft delete table inet svc_ran'),
  )
}

/** In the audit trail, which the compliance export holds: the box has seen a cell on air without a permit. */
function record(context: Context, because: string): void {
  const system = systemPrincipal(RADIO_RESOURCE)
  context
    .mutate(system, 'ran.not_permitted', 'ran', async (tx) => {
      tx.audit({ detail: { because } })
      tx.event({ type: 'ran.not_permitted', subject: 'ran' })
    })
    .catch((error: unknown) => context.log.error({ err: error }, 'the audit trail has not taken it'))
}
