import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OPEN, radioConfig } from '../radio/box.ts'
import type { PackagedBox } from './packaged-box.ts'

const BINARY = '/opt/radio/srsenb'
/** As docs/packages.md has it for a radio; of its device a stand-in needs none. */
const DROP_IN = `[Service]
PrivateUsers=no
PrivateDevices=no
RestrictRealtime=no
SystemCallFilter=@resources
CapabilityBoundingSet=CAP_SYS_NICE
AmbientCapabilities=CAP_SYS_NICE
`
/**
 * Says what srsenb says once it is on, and becomes a program that runs with a time of its own from the kernel, as srsenb's threads
 * do; where it may not have that it ends.
 */
const STAND_IN = `#!/bin/sh
echo '---  Software Radio Systems LTE eNodeB  ---'
echo 'Opening 1 channels in RF device=uhd with args=type=b200'
echo '==== eNodeB started ==='
echo 'Setting frequency: DL=2680.0 Mhz, UL=2560.0 MHz for cc_idx=0 nof_prb=25'
exec chrt --rr 10 ${BINARY}.run infinity
`

/** Gives a box a radio, and the law that lets it transmit. */
export async function equipRadio({ debian, answers, post }: PackagedBox): Promise<void> {
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(debian.folder, path)), { recursive: true })
    writeFileSync(join(debian.folder, path), text, { mode })
  }
  put(BINARY, STAND_IN, 0o755)
  await debian.must('cp', '/usr/bin/sleep', `${BINARY}.run`)
  put('/etc/svc/control.yaml', radioConfig(BINARY))
  put('/etc/systemd/system/steeple.service.d/radio.conf', DROP_IN)
  await debian.must('systemctl', 'daemon-reload')
  await debian.must('systemctl', 'restart', 'steeple')
  await answers()
  await post('/v1/policy', OPEN)
}

/** The numbers of radios that run, inside. */
export async function radios({ debian }: PackagedBox): Promise<readonly string[]> {
  const { said } = await debian.run('sh', '-c', 'grep -lx srsenb.run /proc/[0-9]*/comm')
  return [...said.matchAll(/^\/proc\/(\d+)\/comm$/gm)].map(([, pid = '']) => pid)
}
