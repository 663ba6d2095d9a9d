import { access, constants, readdir } from 'node:fs/promises'
import type { Settings } from '@steeple/contracts'
import { type Check, doubtful, broken as failed, healthy } from '../check.ts'
import type { DoctorPart } from '../doctor-part.ts'

const REMEDY =
  'mount the directory into which the CHF writes (its /tmp) at core_b.cdr_dir, and let the service read it'

/** Whether the charging records of a free5GC core can be read, where the configuration wants them. */
export async function checkCharging({ core, core_b, collector }: Settings): Promise<readonly Check[]> {
  const { cdr_dir: dir } = core_b
  if (core !== 'core_b' || dir === '') return []
  if (!collector.enabled)
    return [
      doubtful('charging', `${dir} is not read`, 'set collector.enabled, or leave core_b.cdr_dir empty'),
    ]
  try {
    const names = await readdir(dir)
    await access(dir, constants.X_OK)
    const files = names.filter((name) => name.endsWith('.cdr')).length
    return [healthy('charging', `${dir} holds ${files} files of charging records`)]
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error'
    return [failed('charging', `${dir} cannot be read: ${code}`, REMEDY)]
  }
}

/** The charging records of a core. */
export const part: DoctorPart = {
  of: 'collector-cdr',
  checks: checkCharging,
}
