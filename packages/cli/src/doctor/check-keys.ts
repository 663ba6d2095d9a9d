import type { Clock, Settings } from '@steeple/contracts'
import { openSecrets } from '@steeple/secrets'
import { type Check, doubtful, broken as failed, healthy, reasonOf } from './check.ts'

const DAY_MS = 86_400_000
/** Renewed at half of 30 days: one with a week left was not renewed. */
const WARN_DAYS = 7

/** Keys, their modes, and the node's certificate. */
export function checkKeys(settings: Settings, clock: Clock): readonly Check[] {
  try {
    const { identity, directory, keyring } = openSecrets(settings.server.data_dir)
    const leftDays = Math.floor((identity.certificateExpiresAtMs - clock.nowMs()) / DAY_MS)
    const checks = [healthy('keys', `node ${identity.nodeId} (${identity.name}) in ${directory}`)]
    checks.push(certificate(leftDays))
    if (keyring.replaced.length > 0)
      checks.push(doubtful('vault', 'a rotation was broken off', 'finish it: svc vault rotate'))
    return checks
  } catch (error) {
    return [failed('keys', reasonOf(error), 'svc node init makes keys where there are none')]
  }
}

function certificate(leftDays: number): Check {
  if (leftDays < 0)
    return doubtful('certificate', "the node's certificate has expired", 'start the service: it renews it')
  if (leftDays < WARN_DAYS)
    return doubtful('certificate', `it expires in ${leftDays} days`, 'keep the service running: it renews it')
  return healthy('certificate', `valid for ${leftDays} days`)
}
