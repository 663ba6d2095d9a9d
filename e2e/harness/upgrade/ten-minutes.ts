import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { takeStep, tenMinutesSteps, typedShell } from '../tutorial-steps.ts'
import type { PackagedBox } from './packaged-box.ts'

/** The commands of a checkout, as somebody with the package has them. */
const COMMANDS = `
svc() { runuser -u steeple -- env "SVC_TOKEN=$SVC_TOKEN" HOME=/var/lib/svc /usr/bin/svc "$@"; }
lab() { /usr/lib/steeple/bin/lab "$@"; }
`
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [/npm run (-s )?svc --/g, 'svc'],
  [/npm run (-s )?lab --/g, 'lab'],
  [/\.\/data\/lab-core/g, '/var/lib/lab-core'],
  [/\.\/data/g, '/var/lib/svc'],
  // The command of a package starts at once: nobody types so fast that the HSS does not know the card yet, which bars the phone.
  [
    /^(?=.*\| lab insert$)/gm,
    `until api http://127.0.0.1:8080/v1/sims/$HASH | grep '"synced"' >/dev/null; do sleep 0.1; done\n`,
  ],
]
const COUNTRY = '[Service]\nEnvironment=SVC_SERVER_COUNTRY=DE\n'

/**
 * The tutorial of the first ten minutes, word by word, on a box that was installed from a package and is equipped: gives how many steps
 * there were, and how many results were held against what is announced.
 */
export async function tenMinutes(
  box: PackagedBox,
): Promise<{ readonly steps: number; readonly compared: number }> {
  const { debian } = box
  const child = debian.start(['bash'], {})
  try {
    const shell = typedShell(child)
    await shell.run(COMMANDS)
    const token = debian.read('/var/lib/svc/first-token').trim()
    const steps = tenMinutesSteps()
    let compared = 0
    for (const step of steps) {
      if (step.script.includes('npm start')) {
        await restartInGermany(box)
        continue
      }
      const own = INSTEAD.reduce((text, [of, by]) => text.replaceAll(of, by), step.script)
      compared += await takeStep(shell, step, own.replace('svc_…', token))
    }
    return { steps: steps.length, compared }
  } finally {
    child.kill('SIGKILL')
  }
}

async function restartInGermany({ debian, answers }: PackagedBox): Promise<void> {
  const folder = join(debian.folder, 'etc/systemd/system/steeple.service.d')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'country.conf'), COUNTRY)
  await debian.must('systemctl', 'daemon-reload')
  await debian.must('systemctl', 'restart', 'steeple')
  await answers()
}
