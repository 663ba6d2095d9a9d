import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { t } from '../../text/index.ts'
import { Clock } from './clock.tsx'
import { Health } from './health.tsx'
import { LogLevel } from './log-level.tsx'
import { RegulatorFile } from './regulator-file.tsx'
import { SupportBundle } from './support-bundle.tsx'
import { Version } from './version.tsx'

/** How the box itself is: its parts, version, clock and log, and what others may need of it. */
export function Page() {
  return (
    <>
      <h1>{t('system.title')}</h1>
      <Health />
      <div class="cards">
        <Version />
        <Clock />
        {has('support') && may('admin') ? <LogLevel /> : null}
        {has('support') && may('admin') ? <SupportBundle /> : null}
        {has('compliance') && may('operator') ? <RegulatorFile /> : null}
      </div>
    </>
  )
}
