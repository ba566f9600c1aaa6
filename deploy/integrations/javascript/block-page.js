/**
 * The page that a browser shows when a block has no body of its own, in the visitor's language.
 *
 * The parts are those of `python/tidegate/edge/block_page.json`, which a test compares.
 */

const DEFAULT = "en";
const MAX_HEADER = 1024;
const RANGE = /^([a-z]{2,8})(?:-[a-z0-9-]*)?(?:;q=([01](?:\.[0-9]{0,3})?))?$/;
const REFERENCE = /^[0-9A-Za-z-]{1,64}$/;

/** Gives the page's headers and its content. */
export function blockPage(accepted, reference) {
  const language = preferredLanguage(accepted);
  const texts = PARTS.texts[language];
  const isNamed = typeof reference === "string" && REFERENCE.test(reference);
  const footer = isNamed ? filled(PARTS.footer, { label: texts.label, reference }) : "";
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-language": language,
    "content-security-policy": PARTS.policy,
    vary: "accept, accept-language, sec-fetch-mode",
  };
  return [headers, filled(PARTS.page, { code: language, footer, ...texts })];
}

function preferredLanguage(accepted) {
  let [best, weight] = [DEFAULT, 0];
  for (const part of accepted.slice(0, MAX_HEADER).toLowerCase().replaceAll(" ", "").split(",")) {
    const [, code, quality] = RANGE.exec(part) ?? [];
    if (code === undefined || !Object.hasOwn(PARTS.texts, code)) continue;
    const liked = Number(quality ?? 1);
    if (liked > weight) [best, weight] = [code, liked];
  }
  return best;
}

function filled(template, values) {
  return Object.entries(values).reduce((made, [name, value]) => made.replaceAll(`{${name}}`, value), template);
}

export const PARTS = {
  "page": "<!doctype html>\n<html lang=\"{code}\" dir=\"{direction}\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n<title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>:root{color-scheme:light dark}\n*{box-sizing:border-box}\nbody{display:grid;min-height:100vh;margin:0;padding:1rem;place-items:center;background:light-dark(#f4f5f7,#14171b);color:light-dark(#1c2024,#eceef0);font:1rem/1.5 system-ui,sans-serif}\nmain{width:100%;max-width:30rem;padding:clamp(1.25rem,5vw,2rem);border:1px solid light-dark(#d5d9de,#363c44);border-radius:.75rem;background:light-dark(#fff,#1d2126);overflow-wrap:anywhere}\nh1{margin:0 0 .75rem;font-size:1.4rem;line-height:1.3}\np{margin:0 0 1rem}\nfooter{margin-top:1.5rem;color:light-dark(#555d66,#a6afb8);font-size:.875rem}\nfooter p{margin:0}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p>{text}</p>\n<p>{contact}</p>\n{footer}</main>\n</body>\n</html>\n",
  "footer": "<footer>\n<p>{label}: <code>{reference}</code></p>\n</footer>\n",
  "policy": "default-src 'none'; img-src data:; style-src 'sha256-olt3QDD1zAkl+IyB9FNY/ieZ8uUWfkujo/pL6XozRCY='; base-uri 'none'; frame-ancestors 'none'",
  "texts": {
    "ar": {
      "direction": "rtl",
      "title": "تم حظر الطلب",
      "text": "لا تسمح قواعد هذا الموقع بهذا الطلب.",
      "contact": "إذا كان هذا خطأ، فيرجى الاتصال بالموقع.",
      "label": "الرقم المرجعي"
    },
    "de": {
      "direction": "ltr",
      "title": "Anfrage blockiert",
      "text": "Die Regeln dieser Website lassen diese Anfrage nicht zu.",
      "contact": "Wenn das ein Irrtum ist, wenden Sie sich bitte an den Betreiber.",
      "label": "Referenz"
    },
    "en": {
      "direction": "ltr",
      "title": "Request blocked",
      "text": "The rules of this site don’t allow this request.",
      "contact": "If this is a mistake, please contact the site.",
      "label": "Reference"
    },
    "es": {
      "direction": "ltr",
      "title": "Solicitud bloqueada",
      "text": "Las reglas de este sitio no permiten esta solicitud.",
      "contact": "Si se trata de un error, póngase en contacto con el sitio.",
      "label": "Referencia"
    },
    "fr": {
      "direction": "ltr",
      "title": "Requête bloquée",
      "text": "Les règles de ce site n’autorisent pas cette requête.",
      "contact": "S’il s’agit d’une erreur, veuillez contacter le site.",
      "label": "Référence"
    },
    "it": {
      "direction": "ltr",
      "title": "Richiesta bloccata",
      "text": "Le regole di questo sito non consentono questa richiesta.",
      "contact": "Se si tratta di un errore, contatti il sito.",
      "label": "Riferimento"
    },
    "ja": {
      "direction": "ltr",
      "title": "リクエストはブロックされました",
      "text": "このサイトのルールにより、このリクエストは許可されていません。",
      "contact": "誤りと思われる場合は、サイトにお問い合わせください。",
      "label": "参照番号"
    },
    "nl": {
      "direction": "ltr",
      "title": "Verzoek geblokkeerd",
      "text": "De regels van deze site staan dit verzoek niet toe.",
      "contact": "Is dit een vergissing? Neem dan contact op met de site.",
      "label": "Referentie"
    },
    "pl": {
      "direction": "ltr",
      "title": "Żądanie zablokowane",
      "text": "Reguły tej witryny nie zezwalają na to żądanie.",
      "contact": "Jeśli to pomyłka, skontaktuj się z witryną.",
      "label": "Numer referencyjny"
    },
    "pt": {
      "direction": "ltr",
      "title": "Solicitação bloqueada",
      "text": "As regras deste site não permitem esta solicitação.",
      "contact": "Se for um engano, entre em contato com o site.",
      "label": "Referência"
    },
    "ru": {
      "direction": "ltr",
      "title": "Запрос заблокирован",
      "text": "Правила этого сайта не разрешают этот запрос.",
      "contact": "Если это ошибка, свяжитесь с администрацией сайта.",
      "label": "Номер"
    },
    "tr": {
      "direction": "ltr",
      "title": "İstek engellendi",
      "text": "Bu sitenin kuralları bu isteğe izin vermiyor.",
      "contact": "Bunun bir hata olduğunu düşünüyorsanız siteyle iletişime geçin.",
      "label": "Referans"
    },
    "zh": {
      "direction": "ltr",
      "title": "请求已被阻止",
      "text": "本网站的规则不允许此请求。",
      "contact": "如果这是误判，请联系网站。",
      "label": "参考编号"
    }
  }
};
