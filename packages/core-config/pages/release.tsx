import { type AnswerOf, api, Checkbox, Form, FormDialog, Notice, t, useState } from '@steeple/console/kit'
import { dropsText, Lines } from './planned.tsx'

type Plan = AnswerOf<'GET', '/v1/core/plan'>

/** Daemons restart, and phones come back. */
const LIMIT_MS = 180_000

/** With these the box looks at the core, and writes nothing. */
const LOOKING = { settings: { 'hss.driver': 'none', 'southbound.driver': 'none' } }

/** What a release would do. */
interface Outlook {
  readonly sims: AnswerOf<'POST', '/v1/sims/release'>
  /** Undefined where the box has replaced no file. */
  readonly files: AnswerOf<'POST', '/v1/core/restore-original'> | undefined
  readonly settings: AnswerOf<'PUT', '/v1/settings'>
}

/** The way out: the core is left as it works without the box. First what that does is shown, then it is done. */
export function Release({
  plan: { state, problems, originals },
  onDone,
}: {
  readonly plan: Pick<Plan, 'state' | 'problems' | 'originals'>
  readonly onDone: (said: string) => void
}) {
  const [outlook, setOutlook] = useState<Outlook>()
  const [isUnblocking, setUnblocking] = useState(false)
  const isKept = originals.length > 0
  if (state === 'unknown')
    return (
      <Notice tone="warn">
        <p>{t('core.release.unknown')}</p>
        <Lines lines={problems} />
      </Notice>
    )
  return (
    <section aria-labelledby="core-release">
      <h3 id="core-release">{t('core.release')}</h3>
      <p>{t('core.release.about')}</p>
      <Form kind="plain" submit={t('core.release.look')} act={() => lookedAt(isKept)} onDone={setOutlook} />
      {outlook === undefined ? null : (
        <FormDialog
          title={t('core.release')}
          confirm={t('core.release.go')}
          isDanger
          isDisabled={!outlook.settings.writable || outlook.settings.fixed.length > 0}
          act={() => released(isKept, isUnblocking)}
          onDone={(done) => {
            setOutlook(undefined)
            onDone(t('core.release.done', done))
          }}
          onClose={() => setOutlook(undefined)}
        >
          <Steps outlook={outlook} />
          {outlook.sims.blocked === 0 ? null : (
            <Checkbox
              label={t('core.release.unblock', { number: outlook.sims.blocked })}
              help={t('core.release.unblock.help')}
              isChecked={isUnblocking}
              onChange={setUnblocking}
            />
          )}
        </FormDialog>
      )}
    </section>
  )
}

function Steps({ outlook: { sims, files, settings } }: { readonly outlook: Outlook }) {
  return (
    <>
      <ul>
        <li>{t('core.release.stay', { count: sims.subscribers })}</li>
        {sims.others === null || sims.others === 0 ? null : (
          <li>{t('core.release.others', { count: sims.others })}</li>
        )}
        {sims.rates === 0 ? null : <li>{t('core.release.rates', { count: sims.rates })}</li>}
        {files === undefined ? <li>{t('core.release.files.same')}</li> : <Files files={files} />}
        <li>{t('core.release.looks')}</li>
      </ul>
      {settings.writable && settings.fixed.length === 0 ? null : (
        <>
          <p>{t('core.release.byHand', { file: settings.file })}</p>
          <pre>{settings.lines}</pre>
        </>
      )}
    </>
  )
}

/** Which files come back, which edits that undoes, and whom it costs the network. */
function Files({
  files: { changed, restarted, subscribers_dropped: dropped, edits, kept, left },
}: {
  readonly files: NonNullable<Outlook['files']>
}) {
  return (
    <>
      <li>
        {changed.length === 0
          ? t('core.release.files.same')
          : t('core.release.files', { files: changed.join(', ') })}
      </li>
      {edits.length === 0 ? null : (
        <li>{t('core.release.edits', { files: edits.join(', '), copy: kept ?? '' })}</li>
      )}
      {left.length === 0 ? null : <li>{t('core.release.left', { files: left.join(', ') })}</li>}
      <li>
        {restarted.length === 0 ? (
          t('core.found.cost.none')
        ) : (
          <>
            {t('core.found.cost', { daemons: restarted.join(', ') })} {dropsText(dropped)}
          </>
        )}
      </li>
    </>
  )
}

/** What it would do, step by step; nothing is changed. */
async function lookedAt(isKept: boolean) {
  const sims = await api.post('/v1/sims/release', { body: { dry_run: true } })
  if (!sims.ok) return sims
  const files = isKept ? await api.post('/v1/core/restore-original', { body: { dry_run: true } }) : undefined
  if (files?.ok === false) return files
  const settings = await api.put('/v1/settings', { query: { dry_run: true }, body: LOOKING })
  if (!settings.ok) return settings
  return { ...settings, data: { sims: sims.data, files: files?.data, settings: settings.data } }
}

/** Files first, since nothing restarts without a driver; subscribers last, right before nobody writes to them any more. */
async function released(isKept: boolean, isUnblocking: boolean) {
  const files = isKept
    ? await api.post('/v1/core/restore-original', { body: {}, timeoutMs: LIMIT_MS })
    : undefined
  if (files?.ok === false) return files
  const sims = await api.post('/v1/sims/release', { body: isUnblocking ? { unblock: true } : {} })
  if (!sims.ok) return sims
  const settings = await api.put('/v1/settings', { body: LOOKING })
  if (!settings.ok) return settings
  const { changed = [], restarted = [], problem = null } = files?.data ?? {}
  return {
    ...settings,
    data: {
      subscribers: sims.data.subscribers,
      files: changed.join(', ') || '–',
      daemons: restarted.join(', ') || '–',
      problem: problem ?? '',
    },
  }
}
