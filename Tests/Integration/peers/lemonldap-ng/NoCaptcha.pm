# A captcha module, which the portal loads although no page has a captcha. Its own one needs ImageMagick.
package NoCaptcha;

use Mouse;

extends 'Lemonldap::NG::Common::Module';

sub init { 1 }

1;
