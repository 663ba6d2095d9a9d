import type { CellPlan } from '../render/cell-plan.ts'
import type { RadioFacts } from './radio-facts.ts'

/** Of numbers in floating point, MHz. */
const SLACK_MHZ = 0.000_001

/**
 * Why a process is not what was permitted; undefined while nothing says so.
 *
 * Compares what the process itself prints: frequency, resource blocks, device, gain. It sees no offset that is less than
 * half of the last digit: 50 kHz with srsenb, 5 kHz with gnb.
 */
export function carrierFault(facts: RadioFacts, plan: CellPlan, isVirtual: boolean): string | undefined {
  if (facts.isGainIgnored) return 'the radio ignores the configured gain and sends with the receive gain'
  if (isVirtual && facts.device !== undefined && facts.device !== 'zmq') {
    return `the radio opens the device ${facts.device.slice(0, 32)} where only the virtual one is permitted`
  }
  const { carrier } = facts
  if (carrier === undefined) return undefined
  const differs = (saidMhz: number, plannedMhz: number): boolean =>
    // NaN differs from everything.
    !(Math.abs(saidMhz - plannedMhz) <= carrier.stepMhz / 2 + SLACK_MHZ)
  if (differs(carrier.downlinkMhz, plan.downlinkMhz)) {
    return `the radio sends at ${carrier.downlinkMhz} MHz where ${plan.downlinkMhz} MHz is permitted`
  }
  if (
    carrier.uplinkMhz !== undefined &&
    plan.uplinkMhz !== undefined &&
    differs(carrier.uplinkMhz, plan.uplinkMhz)
  ) {
    return `the radio's phones would send at ${carrier.uplinkMhz} MHz where ${plan.uplinkMhz} MHz is permitted`
  }
  if (carrier.bandwidthMhz !== undefined && carrier.bandwidthMhz !== plan.bandwidthMhz) {
    return `the radio uses ${carrier.bandwidthMhz} MHz of bandwidth where ${plan.bandwidthMhz} MHz are permitted`
  }
  if (carrier.resourceBlocks !== undefined && carrier.resourceBlocks !== plan.resourceBlocks) {
    return `the radio uses ${carrier.resourceBlocks} resource blocks where ${plan.resourceBlocks ?? 0} are permitted`
  }
  return undefined
}
