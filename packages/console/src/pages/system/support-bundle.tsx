import { download } from '../../api/download.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { bytesText } from '../../ui/bytes.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'

/** What those who help need to know, as a file. */
export function SupportBundle() {
  const take = useAction(() => download('/v1/support/bundle', { timeoutMs: 120_000 }))
  const run = async (): Promise<void> => {
    const result = await take.run()
    if (result?.ok === true)
      toast({ text: t('system.file.taken', { name: result.data.name, size: bytesText(result.data.bytes) }) })
  }
  return (
    <section class="card" aria-label={t('system.bundle')}>
      <h2>{t('system.bundle')}</h2>
      <p>{t('system.bundle.what')}</p>
      <p>
        <a href="/docs/how-to/support.html">{t('system.bundle.docs')}</a>
      </p>
      {take.error === undefined ? null : <ErrorNotice error={take.error} />}
      <div class="actions">
        <Button isBusy={take.isBusy} onClick={() => void run()}>
          {t('system.bundle.take')}
        </Button>
      </div>
    </section>
  )
}
