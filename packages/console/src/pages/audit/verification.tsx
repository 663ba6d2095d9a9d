import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import { type ChainFindings, verifyChain } from './verify-chain.ts'

/** Checks the whole trail from here, and says what can be checked on the box alone. */
export function Verification() {
  const [findings, setFindings] = useState<ChainFindings | undefined>(undefined)
  const [checked, setChecked] = useState<number | undefined>(undefined)
  const ending = useRef(new AbortController())
  useEffect(() => () => ending.current.abort(), [])
  const run = async (): Promise<void> => {
    setFindings(undefined)
    setChecked(0)
    try {
      setFindings(await verifyChain(setChecked, ending.current.signal))
      setChecked(undefined)
    } catch (error) {
      // The page was left.
      if (!ending.current.signal.aborted) throw error
    }
  }
  return (
    <section class="card" aria-label={t('audit.verify')}>
      <p>{t('audit.verify.what')}</p>
      <div>
        <Button isBusy={checked !== undefined} onClick={() => void run()}>
          {checked === undefined ? t('audit.verify') : t('audit.verify.running', { count: checked })}
        </Button>
      </div>
      {findings === undefined ? null : <Findings findings={findings} />}
    </section>
  )
}

function Findings({ findings }: { readonly findings: ChainFindings }) {
  const { fault, error, checked, oldest, newest, hasHashes } = findings
  return (
    <>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {fault === undefined ? (
        <Notice tone={error === undefined ? 'ok' : 'warn'}>
          <p>{t('audit.verify.holds', { count: checked })}</p>
          {oldest === undefined || newest === undefined ? null : (
            <p>
              <Time at={oldest.at} /> – <Time at={newest.at} />
            </p>
          )}
        </Notice>
      ) : (
        <Notice tone="bad">
          <p>{t(`audit.verify.${fault.kind}`, { seq: fault.seq })}</p>
          <p>{t('audit.verify.fault.do')}</p>
        </Notice>
      )}
      <Notice>
        <p>{t('audit.verify.notHere')}</p>
        <ul>
          {hasHashes ? null : <li>{t('audit.verify.noHashes')}</li>}
          {oldest === undefined || oldest.seq === 1 ? null : (
            <li>{t('audit.verify.before', { seq: oldest.seq })}</li>
          )}
          <li>{t('audit.verify.end')}</li>
          <li>{t('audit.verify.rewritten')}</li>
        </ul>
        <p>
          <code>svc audit verify</code> · <a href="/docs/explanation/audit.html">{t('audit.docs')}</a>
        </p>
      </Notice>
    </>
  )
}
