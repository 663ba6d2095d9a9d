import { setTimeout as wait } from 'node:timers/promises'
import {
  type Context,
  type CoreDriver,
  coreDriverRef,
  type Settings,
  southboundUnavailable,
  txGateRef,
  untilAborted,
} from '@steeple/contracts'
import { type FakeContext, fakeContext, type Overrides, tempDir } from '@steeple/testkit'
import { cellNote } from '../../../src/external/cell-note.ts'
import type { CellChannel, CellSwitch, Meter } from '../../../src/external/cell-switch.ts'
import type { CoreClosing } from '../../../src/external/core-closing.ts'
import { ExternalCell } from '../../../src/external/external-cell.ts'
import { type FakeGate, fakeGate } from '../../support/gate.ts'
import { PROFILE } from '../../support/lab.ts'

const ADDRESS = '192.0.2.50'

/** A cell with its switch, its core and its gate. Fields are what a test does past the driver. */
export interface CellWorld {
  readonly cell: ExternalCell
  readonly gate: FakeGate
  readonly context: Context
  readonly fake: FakeContext<unknown>
  /** What the switch is set to. */
  isSwitchedOn: boolean
  /** It sends whatever its switch says, as one with a supply of its own. */
  isStubborn: boolean
  /** Neither the switch nor a reading comes. */
  isSilent: boolean
  /** The switch answers, and does not turn on. */
  isRefusing: boolean
  /** It never finds the core. */
  isLost: boolean
  /** The core still lists it, as until an association has timed out. */
  isRemembered: boolean
  /** The core lists no base stations. */
  isCoreMute: boolean
  /** nft may not be used. */
  isClosingRefused: boolean
  meter: ((isSending: boolean) => Meter) | undefined
  /** What it says of its channel while it has power. */
  channel: CellChannel | undefined
  /** How long an order to turn on takes, ms. */
  slowOnMs: number
  readonly isSending: boolean
  readonly isCoreClosed: boolean
  readonly orders: readonly boolean[]
  readonly cameBack: readonly string[]
  /** Another driver over the same cell and folder, as after a restart. */
  restarted(): ExternalCell
  /** Calls the steps until `close`, or until the next restart. */
  drive(): void
  close(): Promise<void>
}

export async function cellWorld(
  external: Overrides<Settings['ran']['external']> = {},
  { server, ran }: Pick<Overrides<Settings>, 'server' | 'ran'> = {},
): Promise<CellWorld> {
  const folder = await tempDir()
  const profiles = { mast: PROFILE }
  const gate = fakeGate(profiles)
  const orders: boolean[] = []
  const cameBack: string[] = []
  let closedTo: string | undefined
  let tries = 0
  let isOpen = true
  const core: Pick<CoreDriver, 'stations'> = {
    stations: async () => {
      if (world.isCoreMute) throw southboundUnavailable('the MME does not answer')
      const isThere = world.isSending && !world.isLost && closedTo === undefined
      return isThere || world.isRemembered ? [{ id: 411, address: ADDRESS }] : []
    },
  }
  const services = new Map<string, object>([
    [txGateRef.id, gate],
    [coreDriverRef.id, core],
  ])
  const settings: Overrides<Settings> = {
    server: { data_dir: folder.path, ...server },
    ran: {
      program: 'external',
      enb_id: 411,
      profiles,
      ...ran,
      external: { address: ADDRESS, poll: '1s', stays_on: true, ...external },
    },
  }
  const fake = fakeContext({ config: {}, settings, services })
  const context: Context = Object.create(fake.context, {
    clock: { value: { nowMs: () => Date.now(), monotonicMs: () => performance.now() } },
  })
  const cell: CellSwitch = {
    turn: async (isOn, signal) => {
      if (world.isSilent) throw southboundUnavailable('the switch does not answer')
      orders.push(isOn)
      if (isOn && world.isRefusing) throw southboundUnavailable('the switch says no')
      if (isOn && world.slowOnMs > 0) {
        await untilAborted(wait(world.slowOnMs), signal)
      }
      world.isSwitchedOn = isOn
    },
    read: async () => {
      if (world.isSilent) throw southboundUnavailable('the switch does not answer')
      return {
        isOn: world.isSwitchedOn,
        ...(world.meter && { meter: world.meter(world.isSending) }),
        ...(world.channel && world.isSending && { channel: world.channel }),
      }
    },
  }
  const closing: CoreClosing = {
    close: async (address) => {
      if (world.isClosingRefused) throw southboundUnavailable('nft: not permitted')
      if (closedTo === undefined) tries = 0
      closedTo = address
      if (world.isSending) tries += 1
      return tries
    },
    open: async () => {
      if (world.isClosingRefused) throw southboundUnavailable('nft: not permitted')
      closedTo = undefined
    },
  }
  const made = (): ExternalCell =>
    new ExternalCell({
      ...{ context, cell, closing, note: cellNote(`${folder.path}/ran`) },
      events: {
        ...{ wake: () => undefined, started: () => undefined, stopped: () => undefined },
        cameBack: (because) => void cameBack.push(because),
        certainty: () => context.changed(txGateRef),
      },
    })
  let current = made()
  let looping: Promise<void> = Promise.resolve()
  const loop = async (): Promise<void> => {
    while (isOpen) {
      await current.step().catch(() => undefined)
      await wait(20)
    }
  }
  const world: CellWorld = {
    ...{ gate, context, fake, orders, cameBack },
    ...{ isSwitchedOn: false, isStubborn: false, isSilent: false, isLost: false, isRemembered: false },
    ...{
      isCoreMute: false,
      isClosingRefused: false,
      isRefusing: false,
      meter: undefined,
      channel: undefined,
    },
    slowOnMs: 0,
    get cell() {
      return current
    },
    get isSending() {
      return world.isSwitchedOn || world.isStubborn
    },
    get isCoreClosed() {
      return closedTo !== undefined
    },
    restarted: () => {
      current = made()
      return current
    },
    drive: () => {
      looping = loop()
    },
    close: async () => {
      isOpen = false
      await looping
      await fake.dispose()
      await folder.remove()
    },
  }
  return world
}
